"""Antialias: a filter that grows with the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Filter = Callable[[torch.Tensor], torch.Tensor]


def triangle(distance: torch.Tensor) -> torch.Tensor:
    """Return the weight at each distance; left (negative) and right are treated alike."""
    return (1 - distance.abs()).clamp(min=0)


def cubic(distance: torch.Tensor) -> torch.Tensor:
    """Return the cubic's weight, with a = -0.5, at each distance, which may be negative."""
    a, d = -0.5, distance.abs()
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return torch.where(d < 1, near, torch.where(d < 2, far, 0.0))


def weights(size: int, length: int, kernel: Filter) -> torch.Tensor:
    """Return the matrix [length, size] in float64. If length is larger than size, the step is 1.

    Pixels outside the image do not exist: at the border a row has fewer weights, and sums to 1.
    """
    step = size / length
    middles = (torch.arange(length, dtype=torch.float64) + 0.5) * step
    pixels = torch.arange(size, dtype=torch.float64) + 0.5
    found = kernel((pixels - middles[:, None]) / max(step, 1))
    return found / found.sum(1, keepdim=True)


def shrink(image: torch.Tensor, height: int, width: int, kernel: Filter) -> torch.Tensor:
    """Resize an image [..., h, w] to [..., height, width], differentiably, and keep its dtype."""
    down = weights(image.shape[-2], height, kernel).to(image.dtype)
    across = weights(image.shape[-1], width, kernel).to(image.dtype)
    return down @ image @ across.T
