"""Use the windows: a moving maximum and a thumbnail."""

from __future__ import annotations

import torch


def moving_max(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return the maximum of every `size` neighbours along the last dim, (..., length - size + 1).

    `x` has one dim or more, and any strides; `size` is at most the size of its last dim.
    """
    return x.unfold(-1, size, 1).amax(-1)


def thumbnail(image: torch.Tensor, size: int) -> torch.Tensor:
    """Return the mean of each block of `size` by `size` pixels, (..., H // size, W // size).

    Leave out rows and columns that do not fill a block.
    """
    return image.unfold(-2, size, size).unfold(-2, size, size).mean((-2, -1))
