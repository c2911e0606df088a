"""See where a gradient looks, and what it misses."""

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
    """Return the gradient of f at `steps` points between baseline and x, stacked along dim 0."""
    parts = [(k + 0.5) / steps for k in range(steps)]
    return torch.stack([torch.func.grad(f)(baseline + part * (x - baseline)) for part in parts])


def credit(
    f: Callable[[torch.Tensor], torch.Tensor],
    baseline: torch.Tensor,
    x: torch.Tensor,
    steps: int,
) -> torch.Tensor:
    """Return the mean of the slopes, times x - baseline, element by element."""
    return slopes(f, baseline, x, steps).mean(0) * (x - baseline)
