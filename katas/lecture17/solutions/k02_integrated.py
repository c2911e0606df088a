"""Integrated gradients: hand out exactly what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from numpy.polynomial.legendre import leggauss


if TYPE_CHECKING:
    from collections.abc import Callable


def rule(method: str, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points and weights of "midpoint" or "gauss" on [0, 1], float64 of shape [steps]."""
    if method == "midpoint":
        points = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
        return points, torch.full_like(points, 1 / steps)
    points, weights = map(torch.from_numpy, leggauss(steps))
    return (points + 1) / 2, weights / 2


def integrated_gradients(
    f: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    baseline: torch.Tensor,
    target: torch.Tensor,
    *,
    method: str = "gauss",
    steps: int = 50,
) -> torch.Tensor:
    """Return the attributions, of the shape and dtype of x."""
    points, weights = (t.to(x.dtype).view(-1, *[1] * x.dim()) for t in rule(method, steps))
    inputs = (baseline + points * (x - baseline)).detach().requires_grad_()
    with torch.enable_grad():
        logits = f(inputs.flatten(0, 1)).unflatten(0, (steps, len(x)))
        chosen = logits[:, torch.arange(len(x)), target].sum()
    (slopes,) = torch.autograd.grad(chosen, inputs)
    return (weights * slopes).sum(0) * (x - baseline)
