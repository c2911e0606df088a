"""Resize an image with two matrix products.

Two programs, one image, two accuracies: one program resized with ``antialias=True``, as Pillow
does, the other without. Look:

    x = torch.arange(16.0).view(1, 1, 4, 4)
    for antialias in (False, True):
        print(F.interpolate(x, size=(2, 2), mode="bilinear", antialias=antialias))
    # upper left: 2.5000, and 3.5714

Without it, a new pixel uses two neighbours, however many old pixels it covers, and ignores the
rest. With it, a new pixel averages all old pixels under a tent as wide as two new pixels:

    old pixels   |  0  |  1  |  2  |  3  |     centres at 0.5, 1.5, 2.5, 3.5
    new pixel 0  |     ^     |                 its centre at 1.0, in units of old pixels
    weights       .75   .75   .25              one minus the distance, measured in new pixels,
                                               and then scaled to add up to 1

Rows and columns take one product each with such a matrix. Write `weights` and `resize`, about 12
lines.

Begin on paper: the weights of new pixel 0 above, as fractions.
Real life differs: for uint8 PyTorch computes with integer weights, so some pixels are off by 1.
Afterwards read ``aten/src/ATen/native/cpu/UpSampleKernel.cpp`` (``HelperInterpLinear``), in
PyTorch's repository.
"""

from __future__ import annotations

import torch


def weights(before: int, after: int) -> torch.Tensor:
    """Return the weight of each old pixel in each new one: a float64 matrix (after, before).

    A new pixel is ``before / after`` old pixels wide. The tent extends from its centre by the width
    of one new pixel to each side, but by at least one old pixel. Each row adds up to 1.
    """
    # TODO: centres, distances, the tent.
    raise NotImplementedError("weights")


def resize(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Resize an image (..., H, W) to (..., height, width), and keep its dtype.

    The image is float64 or uint8. For uint8, round the sums to the nearest integer.
    """
    # TODO: multiply once from the left, once from the right.
    raise NotImplementedError("resize")
