"""Debug: rotary positions that work in every short test."""

from __future__ import annotations

import torch
from torch import nn


def frequencies(dim: int, base: float = 10000.0) -> torch.Tensor:
    """Return the ``dim // 2`` frequencies, in float32. Given, and correct."""
    return base ** -(torch.arange(0, dim, 2) / dim)


def table(count: int, dim: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of all angles, [count, dim // 2], in `dtype`.

    Positions are 0 to count - 1. Only the last step rounds to `dtype`.
    """
    positions = torch.arange(count)
    angles = positions[:, None] * frequencies(dim)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def grid(positions: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the angles of int64 positions [rows, n], as float32 [rows, n, dim // 2].

    The result is the same under autocast.
    """
    return positions[:, :, None] * frequencies(dim)


def rotate(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Return x [rows, heads, n, dim], rotated by float32 angles [rows, n, dim // 2], in x's dtype.

    Column i pairs with column ``i + dim // 2``. Only the last step rounds to x's dtype: a float64 x
    stays float64.
    """
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Rotary(nn.Module):
    """Rotates queries or keys by position, just as accurately after ``.bfloat16()`` or ``.half()``.

    The module computes on the device of x, and adds nothing to a state dict. x and positions are
    on the same device.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Return x [rows, heads, n, dim], rotated; int64 positions are [rows, n]."""
        return rotate(x, positions[:, :, None] * frequencies(self.dim).to(x.device))
