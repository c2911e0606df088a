"""Integrated gradients: hand out exactly what there is.

k01's credit in full: attributions are an integral along the line from a baseline to x, and sum to
f(x) - f(baseline). That is called completeness, and a sum of slopes only comes close. How
close depends on where you ask:

    midpoint    . . o . . . . o . . . . o . . . . o . .     equal weights
    gauss       . o . . . . o . . . . . . o . . . . o .     leggauss(4): exact up to degree 7

1. `rule`: the points, between 0 and 1, and their weights, which sum to 1.
2. `integrated_gradients`: for a batch, with one call of the model for all points and rows. About
   15 lines in all.

- Leave each parameter's ``.grad`` alone; work under ``torch.no_grad()`` too.

Begin on paper: ``leggauss`` is for [-1, 1]. What is the sum of its weights, and what are its points
on [0, 1]? Afterwards see ``grad`` in ``torch/autograd/__init__.py``, in site-packages. Real life
differs: a network's slope jumps at each ReLU, and there gauss is often no better than midpoint.
Captum calls the sum, minus f(x) - f(baseline), the convergence delta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from numpy.polynomial.legendre import leggauss


if TYPE_CHECKING:
    from collections.abc import Callable


def rule(method: str, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points and weights of "midpoint" or "gauss" on [0, 1], float64 of shape [steps]."""
    # TODO: leggauss(steps) returns points and weights on [-1, 1], as NumPy arrays.
    raise NotImplementedError("rule")


def integrated_gradients(
    f: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    baseline: torch.Tensor,
    target: torch.Tensor,
    *,
    method: str = "gauss",
    steps: int = 50,
) -> torch.Tensor:
    """Return the attributions, of the shape and dtype of x.

    `f` maps a batch [N, ...] to logits [N, classes], row by row. `x` is a batch, `baseline` is
    broadcast to it, and `target` has the class of each row.
    """
    # TODO: [steps, *x.shape] points, flattened to one batch.
    raise NotImplementedError("integrated_gradients")
