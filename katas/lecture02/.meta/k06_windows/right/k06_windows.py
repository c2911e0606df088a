"""Sliding windows without a copy, and a convolution from them."""

from __future__ import annotations

import torch


def windows(x: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """Return a view of `x`, (..., number of windows, size): its last dim becomes two.

    The first window begins at 0, each further one `step` later; leave out a remainder that does not
    fill a window. `x` may have any strides and offset.
    """
    if x.dim() == 0 or min(size, step) < 1 or size > x.size(-1):
        raise ValueError(f"no windows of {size} every {step} in a tensor of shape {x.shape}")
    count = (x.size(-1) - size) // step + 1
    # Without an offset, as_strided starts where `x` starts in the storage.
    stride = x.stride(-1)
    sizes = (*x.shape[:-1], count, size)
    # From one window to the next it is `step` elements, within a window one.
    return torch.as_strided(x, sizes, (*x.stride()[:-1], step * stride, stride))


def patches(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return a view (N, C, down, across, height, width) of `image`, an (N, C, H, W) batch.

    There are ``down = H - height + 1`` by ``across = W - width + 1`` patches, one at each position.
    """
    if image.dim() != 4:
        raise ValueError(f"expected (N, C, H, W), found the shape {image.shape}")
    if not (1 <= height <= image.size(2) and 1 <= width <= image.size(3)):
        raise ValueError(f"a patch of {height} by {width} does not fit into {image.shape}")
    # Windows over the rows of each column, then over the columns of what came out.
    rows = windows(image.mT, height, 1)
    return windows(rows.permute(0, 1, 3, 4, 2), width, 1).transpose(3, 4)


def im2col(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return the patches as columns, (N, C * height * width, down * across).

    A column holds channel after channel, each row by row; the columns are in the order of patch
    positions, row by row. Then ``weight.flatten(1) @ im2col(...)`` is a convolution.
    """
    # (N, C, height, width, down, across); only a copy can merge these into one matrix.
    columns = patches(image, height, width).permute(0, 1, 4, 5, 2, 3)
    return columns.flatten(4).flatten(1, 3)
