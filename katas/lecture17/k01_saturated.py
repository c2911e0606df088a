"""See where a gradient looks, and what it misses.

`f` pays 1 for the first unit of x, and nothing for more:

    f = lambda x: (1 - torch.relu(1 - x)).sum()

    x            0     2
    f(x)         0     1
    gradient     1     0

Ask at 2 how important x is, and the gradient says: not at all. So ask on the way there:

    0 --o----o----o----o-- 2        steps = 4: one point in the middle of each part

Write `slopes`, the gradients at these points, and `credit`. About 5 lines.

Begin with ``torch.func.grad(f)(torch.tensor([0.25]))``.
Afterwards read ``grad`` in ``torch/_functorch/apis.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def slopes(
    f: Callable[[torch.Tensor], torch.Tensor],
    baseline: torch.Tensor,
    x: torch.Tensor,
    steps: int,
) -> torch.Tensor:
    """Return the gradient of f at `steps` points between baseline and x, stacked along dim 0.

    `f` takes a tensor of the shape of x and returns a scalar.
    """
    # TODO: point k is (k + 1/2) / steps of the way.
    raise NotImplementedError("slopes")


def credit(
    f: Callable[[torch.Tensor], torch.Tensor],
    baseline: torch.Tensor,
    x: torch.Tensor,
    steps: int,
) -> torch.Tensor:
    """Return the mean of the slopes, times x - baseline, element by element."""
    # TODO
    raise NotImplementedError("credit")
