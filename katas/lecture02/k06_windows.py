"""Sliding windows without a copy, and a convolution from them.

A moving average over a million samples, 100 at a time: does that take 100 million numbers? No. Two
dims may step through the same memory, and one element may appear at many indices:

    x          0 1 2 3 4          stride 1

    windows    0 1 2              from window to window: one element
    of 3         1 2 3            inside a window:       one element
                   2 3 4          so position = i * 1 + j * 1

1. `windows`: all windows over the last dim, with ``torch.as_strided``; 5 lines.
2. `patches`: windows over rows and columns; 4 lines.
3. `im2col`: the patches as the columns of a matrix. Make one copy and no more.

You are rebuilding ``unfold``, so do not call it. The checks are given.

Begin on paper: the position of element j of window i, for a step of 2 in ``x[1::3]``.
Afterwards read ``unfold`` in PyTorch's ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

import torch


def windows(x: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """Return a view of `x`, (..., number of windows, size): its last dim becomes two.

    The first window begins at 0, each later one `step` further on; leave out a remainder that does
    not fill a window. `x` may have any strides and offset.
    """
    if x.dim() == 0 or min(size, step) < 1 or size > x.size(-1):
        raise ValueError(f"no windows of {size} every {step} in a tensor of shape {x.shape}")
    # TODO: one dim steps from window to window, the other within a window.
    raise NotImplementedError("windows")


def patches(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return a view (N, C, down, across, height, width) of `image`, an (N, C, H, W) batch.

    There are ``down = H - height + 1`` by ``across = W - width + 1`` patches, one at each position.
    """
    if image.dim() != 4:
        raise ValueError(f"expected (N, C, H, W), found the shape {image.shape}")
    if not (1 <= height <= image.size(2) and 1 <= width <= image.size(3)):
        raise ValueError(f"a patch of {height} by {width} does not fit into {image.shape}")
    # TODO: two dims say where the patch is, two say where in the patch.
    raise NotImplementedError("patches")


def im2col(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return the patches as columns, (N, C * height * width, down * across).

    A column holds channel after channel, each row by row; the columns are in the order of patch
    positions, row by row. Then ``weight.flatten(1) @ im2col(...)`` is a convolution.
    """
    # TODO: order the dims of the patches, then merge them.
    raise NotImplementedError("im2col")
