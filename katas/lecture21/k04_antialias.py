"""Antialias: a filter that grows with the step.

Shrink a checkerboard to a third, and you get a checkerboard: plain ``bilinear`` reads two pixels at
most, however many are between outputs. With ``antialias=True`` the filter keeps its shape, and is
stretched by the step. When seven pixels become three, output 1 weighs them like this, in
hundredths:

    plain         .   .   .  100   .   .   .        step = 7 / 3
    antialias     .   6  24   41  24   6   .

1. `triangle` and `cubic`: the filters. With d, the distance in steps, and a parameter a:

       1 - d                                   d < 1     triangle
       0                                  1 <= d

       (a + 2) d^3 - (a + 3) d^2 + 1           d < 1     cubic
       a d^3 - 5a d^2 + 8a d - 4a         1 <= d < 2
       0                                  2 <= d

2. `weights`: row i holds the filter centred on output i, divided by its sum.
3. `shrink`: resize an image with two matrices. About 15 lines.

Which a? Plain bicubic uses -0.75; with antialias it is -0.5, as in Pillow.

Begin on paper: four pixels to two. Where are the centres, and which pixels are less than 2 away?
Afterwards see ``_compute_indices_min_size_weights_aa`` in
``aten/src/ATen/native/cpu/UpSampleKernel.cpp``, in PyTorch's repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    Filter = Callable[[torch.Tensor], torch.Tensor]


def triangle(distance: torch.Tensor) -> torch.Tensor:
    """Return the weight at each distance; left (negative) and right are treated alike."""
    # TODO
    raise NotImplementedError("triangle")


def cubic(distance: torch.Tensor) -> torch.Tensor:
    """Return the cubic's weight, with a = -0.5, at each distance, which may be negative."""
    # TODO
    raise NotImplementedError("cubic")


def weights(size: int, length: int, kernel: Filter) -> torch.Tensor:
    """Return the matrix [length, size] in float64. If length is larger than size, the step is 1.

    Pixels outside the image do not exist: at the border a row has fewer weights, and sums to 1.
    """
    # TODO: centres in input pixels, distances in steps.
    raise NotImplementedError("weights")


def shrink(image: torch.Tensor, height: int, width: int, kernel: Filter) -> torch.Tensor:
    """Resize an image [..., h, w] to [..., height, width], differentiably, and keep its dtype."""
    # TODO
    raise NotImplementedError("shrink")
