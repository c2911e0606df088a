"""Bend the window of a convolution.

A 3 x 3 kernel reads nine pixels in a square. In a deformable convolution each of these taps has an
offset, a different one at each position in the image. It may point between pixels, and is learned:

    . . . . . . .                       . . o . . . .
    . o o o . . .     tap 0 … 8         . . . . . o .
    . o o o . . .     ----------->      o . . o . . .
    . o o o . . .     + offset          . o . . . o .
    . . . . . . .                       . . . o o . .

You need not write a kernel: `grid_sample` reads all taps at all positions, one einsum sums them.

1. `windows`: which pixel each tap of an ordinary convolution reads.
2. `normalized`: from pixels (y, x) to the coordinates of `grid_sample`.
3. `sampled`: all taps, in one call of `grid_sample`. Pixels outside the image are 0.
4. `deform_conv2d`: mask, weight, bias. With offsets of 0 it is `conv2d`.
5. `DeformConv2d`: a layer that learns its offsets, and begins as an ordinary convolution.

About 30 lines, 70 minutes.

Begin on paper: an image is 4 wide. At which x does `grid_sample` read pixel 0, with
align_corners=False, and at which pixel 3?
Afterwards read ``grid_sample`` in ``torch/nn/functional.py``, in site-packages. Real life differs:
``torchvision.ops.deform_conv2d`` has a kernel of its own, and groups of weights too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


def windows(
    size: Sequence[int], kernel: Sequence[int], stride: int = 1, padding: int = 0
) -> torch.Tensor:
    """Return the pixels that a convolution reads: int64 of [2, taps, out_height, out_width].

    Index 0 of dim 0 holds the rows, index 1 the columns; the first row of a padding of 1 is -1. A
    kernel of (height, width) has height * width taps, row by row.
    """
    # TODO: step 1.
    raise NotImplementedError("windows")


def normalized(points: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Return points [..., 2], given as (y, x) in pixels, in the coordinates of `grid_sample`.

    The coordinates are those of align_corners=False. `size` is (height, width).
    """
    # TODO: step 2.
    raise NotImplementedError("normalized")


def sampled(
    x: torch.Tensor, offset: torch.Tensor, kernel: Sequence[int], stride: int, padding: int
) -> torch.Tensor:
    """Return what the taps read: [batch, channels, taps, out_height, out_width].

    `offset` is [batch, groups * taps * 2, out_height, out_width]: dim 1 is ordered by group, then
    by tap, then y, x. The first of `groups` groups of offsets moves the taps in the first channels
    / groups channels, and so on. Tensors may have any memory layout.
    """
    # TODO: step 3.
    raise NotImplementedError("sampled")


def deform_conv2d(
    x: torch.Tensor,
    offset: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
) -> torch.Tensor:
    """Return the convolution of x with `weight`, taps moved by `offset` and multiplied by `mask`.

    `weight` is as for `conv2d`; `mask` is [batch, groups * taps, out_height, out_width].
    """
    # TODO: step 4.
    raise NotImplementedError("deform_conv2d")


class DeformConv2d(nn.Module):
    """A deformable convolution whose offsets and mask come from an ordinary one, `ask`."""

    def __init__(self, channels: int, out: int, kernel: tuple[int, int], padding: int = 0) -> None:
        """Create both convolutions (given); then make the first call equal `conv2d`."""
        super().__init__()
        self.padding = padding
        self.conv = nn.Conv2d(channels, out, kernel, padding=padding)
        self.ask = nn.Conv2d(channels, 3 * kernel[0] * kernel[1], kernel, padding=padding)
        # TODO: step 5. The parameters of `ask` need different values.

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the deformable convolution of x with conv's weight and bias.

        At each position, the first two thirds of what `ask` returns are offsets; each m of the last
        third gives a mask value, 2 * sigmoid(m).
        """
        # TODO: step 5.
        raise NotImplementedError("forward")
