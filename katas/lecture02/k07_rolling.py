"""Use the windows: a moving maximum and a thumbnail.

    torch.stack([x[i : i + 100] for i in range(len(x) - 99)]).amax(1)

This builds a hundred copies of `x` before it finds one maximum. The view that you have just built
avoids them; PyTorch's own is ``Tensor.unfold``:

    x.unfold(-1, 100, 1)    # (length - 99, 100), no memory

Write both functions with it, one line each, without PyTorch's poolings. The tests count what you
allocate.

Begin with the shape of ``image.unfold(-2, 4, 4)``.
Afterwards: does a view also spare the arithmetic? Time sizes 10 and 1000. Find ``unfold`` in
``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

import torch


def moving_max(x: torch.Tensor, size: int) -> torch.Tensor:
    """Return the maximum of every `size` neighbours along the last dim, (..., length - size + 1).

    `x` has one dim or more, and any strides; `size` is at most the size of its last dim.
    """
    # TODO: a view, then a reduction.
    raise NotImplementedError("moving_max")


def thumbnail(image: torch.Tensor, size: int) -> torch.Tensor:
    """Return the mean of each block of `size` by `size` pixels, (..., H // size, W // size).

    Leave out rows and columns that do not fill a block.
    """
    # TODO: the blocks do not overlap.
    raise NotImplementedError("thumbnail")
