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
    half = x.shape[-1] // 2
    if layout == "halves":
        x = x.unflatten(-1, (2, half)).transpose(-1, -2).flatten(-2)
    angles = positions.double()[..., None] / base ** (torch.arange(half).double() / half)
    points = torch.view_as_complex(x.double().unflatten(-1, (half, 2)).contiguous())
    turned = torch.view_as_real(points * torch.polar(torch.ones_like(angles), angles))
    if layout == "halves":
        turned = turned.transpose(-1, -2)
    return turned.flatten(-2).to(x.dtype)


def to_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Return the weight of a projection, with its rows reordered within each head.

    `weight` is [heads * E, features]. Rotating the old outputs in pairs, or the new outputs in
    halves, gives the same numbers in a different order.
    """
    rows: torch.Tensor = weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
    return rows
