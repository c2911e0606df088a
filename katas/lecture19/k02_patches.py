"""Cut images into patches: a view, until you flatten them.

A vision transformer reads an image as a sequence of patches. Cutting moves no pixel, because a
patch is just an offset and strides. The copy happens when each patch becomes one row of numbers.

     0  1  2 |  3  4  5
     6  7  8 |  9 10 11         patch = (2, 3): 2 high, 3 wide
    ---------+---------
    12 13 14 | 15 16 17
    18 19 20 | 21 22 23

    tokens    [0 1 2 6 7 8]   [3 4 5 9 10 11]   [12 13 14 18 19 20]   [15 16 17 21 22 23]

Write, in about 10 lines, without ``F.unfold``, ``nn.Unfold`` or a convolution (``Tensor.unfold`` is
allowed):

1. `grid`: all patches, as a view of the images.
2. `tokens`: each patch as a row.
3. `embed`: one matrix product that equals a ``Conv2d`` whose stride is its kernel's size.
4. `paste`: from tokens back to images.

Begin on paper: which dims does ``images.unflatten(3, (columns, width))`` have? Which of them say
where a patch is, and which are inside it? Afterwards read ``Unfold`` in
``torch/nn/modules/fold.py``, in site-packages.
"""

from __future__ import annotations

import torch


def whole(images: torch.Tensor, patch: tuple[int, int]) -> tuple[int, int]:
    """Return how many rows and columns of patches there are; none may be cut. Given."""
    (height, width), (tall, wide) = patch, images.shape[2:]
    if tall % height or wide % width:
        raise ValueError(f"patches of {height} x {width} do not fill {tall} x {wide}")
    return tall // height, wide // width


def grid(images: torch.Tensor, patch: tuple[int, int]) -> torch.Tensor:
    """Return a view of images, [batch, channels, tall, wide], which may have any strides.

    The view is [batch, rows, columns, channels, height, width], for a patch of (height, width). The
    batch may be empty. Raise ValueError, through `whole`, if a patch would be cut.
    """
    # TODO: split two dims (whole says into how many), and put the six dims in order.
    raise NotImplementedError("grid")


def tokens(images: torch.Tensor, patch: tuple[int, int]) -> torch.Tensor:
    """Return the patches in reading order, [batch, rows * columns, channels * height * width].

    The patches are copied only where no view has this shape.
    """
    # TODO
    raise NotImplementedError("tokens")


def embed(images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the embedded patches, [batch, rows * columns, out].

    The weight is that of a ``Conv2d``, [out, channels, height, width]; the bias is [out].
    """
    # TODO
    raise NotImplementedError("embed")


def paste(
    patches: torch.Tensor, channels: int, patch: tuple[int, int], columns: int
) -> torch.Tensor:
    """Return the images that these tokens were cut from, [batch, channels, tall, wide].

    The tokens are [batch, rows * columns, channels * height * width], with `columns` patches side
    by side.
    """
    # TODO: the way back, step by step.
    raise NotImplementedError("paste")
