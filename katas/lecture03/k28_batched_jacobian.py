"""Perf: a whole Jacobian in one run of the engine.

Reverse mode gives a row of the Jacobian for each backward. For 128 outputs that is 128 runs, each
of which calls every operator for a single vector. All rows together make a matrix:

    torch.autograd.grad(y, x, rows, is_grads_batched=True)      # rows: one extra dim in front

vmap carries that dim through the formulas. Use it, in about 13 lines:

1. `jacobian`: which gradients give all the rows? `chunk` bounds the memory.
2. `hessian`: of which function is it the Jacobian?

- Be 4 times as fast as row by row, for a net of six small layers.
- ``torch.func.jacrev``, ``jacfwd``, ``hessian`` and ``torch.autograd.functional`` are ready-made:
  don't call them.

Begin with y of two elements: which gradient do you send back for row 0, and for row 1?
Afterwards open ``torch/autograd/__init__.py`` (``grad``) in site-packages, then ``jacobian`` with
``vectorize=True`` in ``torch/autograd/functional.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def jacobian(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, chunk: int | None = None
) -> torch.Tensor:
    """Return J of shape ``y.shape + x.shape``: J[i..., j...] is d y[i...] / d x[j...].

    Call ``y = function(x)`` once, on a leaf of your own: `x` may be a leaf or not; do not change
    it. x and y have at least one element, and y depends on `x`. J has no graph. No run of the
    engine carries more than `chunk` rows (1 or more; None: all); use as few runs as that allows.
    """
    # TODO: the rows of an identity matrix are the gradients to send back, all at once.
    raise NotImplementedError("jacobian")


def hessian(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the second derivatives of a nonlinear `function` whose result has no dims.

    The shape is ``x.shape + x.shape``. Call the function once, and run the engine twice: for the
    gradient, then for all rows.
    """
    # TODO: of which function is it the Jacobian?
    raise NotImplementedError("hessian")
