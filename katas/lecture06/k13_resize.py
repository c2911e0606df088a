"""Resize an image as two matrix products.

Two programs, one image, and two accuracies: one resized with ``antialias=True``, as Pillow does,
the other without. Look:

    x = torch.arange(16.0).view(1, 1, 4, 4)
    for antialias in (False, True):
        print(F.interpolate(x, size=(2, 2), mode="bilinear", antialias=antialias))
    # upper left: 2.5000, and 3.5714

Without, a new pixel looks at two neighbours, however far it has to see, and the rest is lost. With,
it looks at all that it covers, with the weights of a tent that is as wide as a new pixel:

    old pixels   |  0  |  1  |  2  |  3  |     centres at 0.5, 1.5, 2.5, 3.5
    new pixel 0  |     ^     |                 its centre at 1.0, in units of old pixels
    weights       .75   .75   .25              one minus the distance, measured in new pixels,
                                               and then they are made to add up to 1

Rows and columns are two products with such a matrix. Write `weights` and `resize`, about 12 lines.

Begin on paper: the weights of new pixel 0 above, as fractions.
Real life differs: for uint8 PyTorch computes with integer weights, and is off by 1 here and there.
Afterwards read ``aten/src/ATen/native/cpu/UpSampleKernel.cpp`` (``HelperInterpLinear``), in
PyTorch's repository.
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it


def weights(before: int, after: int) -> torch.Tensor:
    """Return how much of each old pixel is in each new one: (after, before) of float64.

    A new pixel is ``before / after`` old pixels wide. The tent reaches from its centre as far as
    one new pixel is wide, but at least one old pixel. Each row adds up to 1.
    """
    # TODO: centres, distances, the tent.
    raise NotImplementedError("weights")


def resize(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Return a (..., H, W) image as (..., height, width), of its dtype.

    The image is of float64, or of uint8: then the sums are rounded to the nearest integer.
    """
    # TODO: one product from the left, one from the right.
    raise NotImplementedError("resize")
