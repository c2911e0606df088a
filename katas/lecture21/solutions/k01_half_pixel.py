"""Half a pixel decides what a resize returns."""

from __future__ import annotations

import torch


def positions(size: int, length: int, *, align_corners: bool) -> torch.Tensor:
    """Return the position of each of `length` output pixels among `size` input pixels, in float64.

    The centre of input pixel j is position j. Positions beyond the first or last pixel centre are
    clamped to it. With `align_corners`, a single output pixel is at position 0.
    """
    i = torch.arange(length, dtype=torch.float64)
    if align_corners:
        return i * (size - 1) / max(length - 1, 1)
    return ((i + 0.5) * size / length - 0.5).clamp(0, size - 1)


def resize(x: torch.Tensor, length: int, *, align_corners: bool) -> torch.Tensor:
    """Return x, 1-D float64, at the positions, interpolated linearly between two neighbours."""
    at = positions(len(x), length, align_corners=align_corners)
    left, right = at.floor().long(), at.ceil().long()
    return x[left] + (at - left) * (x[right] - x[left])
