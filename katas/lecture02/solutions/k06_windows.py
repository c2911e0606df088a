"""Sliding windows without a copy: ``as_strided`` and im2col."""

from __future__ import annotations

import torch


def windows(x: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """Return the sliding windows over the last dim, (..., windows, size), as a view of `x`.

    Raises
    ------
    ValueError
        If `size` or `step` is less than 1, `x` has no dims, or a window does not fit.
    """
    if x.dim() == 0 or min(size, step) < 1 or size > x.size(-1):
        raise ValueError(f"no windows of {size} every {step} in a tensor of shape {x.shape}")
    count = (x.size(-1) - size) // step + 1
    # Without an offset, as_strided starts where `x` starts in the storage.
    stride = x.stride(-1)
    return torch.as_strided(
        x,
        (*x.shape[:-1], count, size),
        # From one window to the next `step` elements, within a window one.
        (*x.stride()[:-1], step * stride, stride),
    )


def patches(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return all patches of a batch (N, C, H, W) as a view of six dims.

    Raises
    ------
    ValueError
        If `image` is not of four dims, or a patch does not fit into it.
    """
    if image.dim() != 4:
        raise ValueError(f"expected (N, C, H, W), found the shape {image.shape}")
    rows, columns = image.shape[2:]
    if not (1 <= height <= rows and 1 <= width <= columns):
        raise ValueError(f"a patch of {height} by {width} does not fit into {rows} by {columns}")
    return torch.as_strided(
        image,
        (*image.shape[:2], rows - height + 1, columns - width + 1, height, width),
        # A step to the next position and a step within the patch cover the same distance.
        (*image.stride(), *image.stride()[2:]),
    )


def im2col(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return the patches as columns, (N, C * height * width, positions), a copy.

    Raises
    ------
    ValueError
        As `patches`.
    """
    view = patches(image, height, width)
    batch, channels, down, across = view.shape[:4]
    # (N, C, height, width, down, across), which only a copy can have as one matrix.
    columns = view.permute(0, 1, 4, 5, 2, 3)
    return columns.reshape(batch, channels * height * width, down * across)
