"""Antialias, row by row, as the kernel computes it: a window for each output."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Filter = Callable[[torch.Tensor], torch.Tensor]


def triangle(distance: torch.Tensor) -> torch.Tensor:
    """Return the weight at each distance."""
    return torch.relu(1 - abs(distance))


def cubic(distance: torch.Tensor) -> torch.Tensor:
    """Return the cubic's weight, Horner's way."""
    d = abs(distance)
    near = (1.5 * d - 2.5) * d * d + 1
    far = ((-0.5 * d + 2.5) * d - 4) * d + 2
    return near * (d < 1) + far * ((d >= 1) & (d < 2))


def weights(size: int, length: int, kernel: Filter) -> torch.Tensor:
    """Return the matrix, a window at a time."""
    found = torch.zeros(length, size, dtype=torch.float64)
    step = size / length
    stretch = max(step, 1.0)
    for i in range(length):
        middle = step * (i + 0.5)
        first = max(floor(middle - 2 * stretch + 0.5), 0)
        last = min(floor(middle + 2 * stretch + 0.5), size)
        window = torch.arange(first, last, dtype=torch.float64)
        row = kernel((window - middle + 0.5) / stretch)
        found[i, first:last] = row / row.sum()
    return found


def shrink(image: torch.Tensor, height: int, width: int, kernel: Filter) -> torch.Tensor:
    """Return the image, rows first."""
    rows = image @ weights(image.shape[-1], width, kernel).to(image).mT
    return (rows.mT @ weights(image.shape[-2], height, kernel).to(image).mT).mT
