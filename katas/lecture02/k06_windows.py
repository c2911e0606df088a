"""Sliding windows without a copy: ``as_strided`` and im2col.

A stride need not be the one of a new tensor. Two dims may step through the same storage at
different paces, and the same element may be seen at many indices: that is all a sliding
window is. Write two views with ``torch.as_strided`` (the view operator that takes sizes, strides
and an offset as they are) and nothing else, and with them a third function that copies once.

1. ``windows(x, size, step)``: all windows of `size` neighbours along the last dim of `x`, the
   first at position 0 and each `step` further. The result has the shape of `x` with the last
   dim replaced by two: (..., number of windows, size). A rest at the end that does not fill a
   window is left out. Raise ``ValueError`` if `size` or `step` is less than 1, if `x` has no
   dims, or if `size` exceeds the last dim.
2. ``patches(image, height, width)``: for a batch of images (N, C, H, W), every patch of
   `height` by `width` at every position (step 1, no padding), as a view of shape
   (N, C, H - height + 1, W - width + 1, height, width). Raise ``ValueError`` if `image` does
   not have four dims (show its shape in the message), or if a patch does not fit into it or
   is smaller than 1 by 1.
3. ``im2col(image, height, width)``: the patches as columns, (N, C * height * width, L), where
   L = (H - height + 1) * (W - width + 1) counts positions row by row: the layout in which a
   convolution is one matrix product. In general this needs one copy, and never more than one.

`x` and `image` may have any strides and any storage offset (transposed, sliced, expanded), any
dtype, and dims of size 0 in front. The results of 1 and 2 share the storage of the argument:
writing to one element of `x` shows in every window that holds it. Gradients flow through
``as_strided``; you need do nothing for them. ``Tensor.unfold`` and ``F.unfold`` are what you
are rebuilding, so they are not to be called.

About 25 lines. In PyTorch: ``aten/src/ATen/native/TensorShape.cpp`` (``unfold``) and
``aten/src/ATen/native/Im2Col.cpp``. Out of scope: padding, dilation.
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it


def windows(x: torch.Tensor, size: int, step: int) -> torch.Tensor:
    """Return the sliding windows over the last dim, (..., windows, size), as a view of `x`.

    Raises
    ------
    ValueError
        If `size` or `step` is less than 1, `x` has no dims, or a window does not fit.
    """
    # TODO: one dim steps from window to window, the other within a window.
    raise NotImplementedError("windows")


def patches(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return all patches of a batch (N, C, H, W) as a view of six dims.

    Raises
    ------
    ValueError
        If `image` is not of four dims, or a patch does not fit into it.
    """
    # TODO: two dims say where the patch is, two where we are in it.
    raise NotImplementedError("patches")


def im2col(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return the patches as columns, (N, C * height * width, positions), a copy.

    Raises
    ------
    ValueError
        As `patches`.
    """
    # TODO: order the dims of the patches, then merge them.
    raise NotImplementedError("im2col")
