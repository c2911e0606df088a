"""Rotate queries and keys by their position."""

from __future__ import annotations

import torch


def rotate(
    x: torch.Tensor, positions: torch.Tensor, *, layout: str = "halves", base: float = 10000.0
) -> torch.Tensor:
    """Return x [..., E], rotated by int64 positions, which broadcast to the shape [...].

    The angles are computed in float64. The result has the dtype of x, and the products may be
    computed in that dtype.
    """
    size = x.shape[-1]
    speeds = base ** (torch.arange(0, size, 2, dtype=torch.float64) / -size)
    angles = positions[..., None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1) if layout == "pairs" else x.chunk(2, -1)
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1 if layout == "pairs" else -2)
    return turned.flatten(-2)


def to_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Return the weight of a projection, with its rows reordered within each head.

    `weight` is [heads * E, features]. Rotating the old outputs in pairs, or the new outputs in
    halves, gives the same numbers in a different order.
    """
    rows: torch.Tensor = weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
    return rows
