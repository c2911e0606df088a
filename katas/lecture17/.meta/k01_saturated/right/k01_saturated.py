"""The same by backward, at points that lerp finds."""

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
    found = []
    for k in range(steps):
        z = torch.lerp(baseline, x, (2 * k + 1) / (2 * steps)).requires_grad_()
        f(z).backward()  # type: ignore[no-untyped-call, unused-ignore]
        found.append(z.grad)
    return torch.stack(found)  # type: ignore[arg-type]


def credit(
    f: Callable[[torch.Tensor], torch.Tensor],
    baseline: torch.Tensor,
    x: torch.Tensor,
    steps: int,
) -> torch.Tensor:
    """Return the mean of the slopes, times x - baseline, element by element."""
    return slopes(f, baseline, x, steps).mean(0) * (x - baseline)
