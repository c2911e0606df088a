"""The clinic: three models that pass their tests and are ill.

The first tells bars apart with 97 % accuracy, and fails at the customer's site. The second stopped
learning. The third is 100 % right, on past data:

    1  where it looks     `hottest`: the pixel with the largest attribution, over many images
    2  a proof            `flips`: swap this region between the classes: do the answers follow?
    3  a cure             `shuffled`: train on images whose regions are mixed
    4  dead units         `revive`: give them new weights, and leave the outputs as they are
    5  a leaking label    `importance` and `leak`: a column that knows the answer, until it does not

Each step turns a group of tests green; about 40 lines, an hour. The tests train the patients, all
on synthetic data: see ``conftest.py``.

A finding is a guess until something refutes or proves it: that is step 2, and why step 5 looks at
two samples.

Begin with step 1, with any method of this lecture: which is a fair baseline for an image, black or
the mean image? Afterwards read ``Linear.reset_parameters`` in ``torch/nn/modules/linear.py``, in
site-packages. Real life differs: a watermark may be a hospital's name on its X-rays, and nobody
tells you where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch import nn

    Region = tuple[slice, slice]


def hottest(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    """Return the row and column of the pixel whose attribution has the largest mean magnitude.

    Attribute the logit of each image's class; `x` are [images, 1, height, width], `y` the classes.
    """
    # TODO: with a method of your own; divmod turns a flat index into row and column.
    raise NotImplementedError("hottest")


def flips(model: nn.Module, x: torch.Tensor, y: torch.Tensor, region: Region) -> float:
    """Return the share of images whose answer changes with the region.

    Each image gets the region of the first image of another class; everything else stays.
    """
    # TODO
    raise NotImplementedError("flips")


def shuffled(x: torch.Tensor, region: Region, dice: torch.Generator) -> torch.Tensor:
    """Return a copy of the images, in which image i has the region of image ``order[i]``.

    `order` is a random permutation from `dice`: the regions look as before, but no longer tell
    the classes apart.
    """
    # TODO
    raise NotImplementedError("shuffled")


def revive(
    first: nn.Linear, second: nn.Linear, x: torch.Tensor, dice: torch.Generator
) -> list[int]:
    """Wake the dead units of ``second(relu(first(x)))`` in place, and return their indices.

    A unit is dead if it is 0 for every row of x; there may be no dead unit. It gets normal weights
    from `dice`, divided by the square root of the number of inputs, and a bias with which it fires
    for half of the rows. Layers and x have the same dtype, such as float64. Change neither
    the outputs for x nor the other units.
    """
    # TODO: under torch.no_grad(). Who reads a unit that was just woken?
    raise NotImplementedError("revive")


def importance(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, dice: torch.Generator
) -> list[float]:
    """For each column of x, return how much the accuracy falls if only that one is permuted.

    Draw one permutation for each column from `dice`, in the order of the columns.
    """
    # TODO
    raise NotImplementedError("importance")


def leak(
    model: nn.Module,
    past: tuple[torch.Tensor, torch.Tensor],
    later: tuple[torch.Tensor, torch.Tensor],
    dice: torch.Generator,
) -> int:
    """Return the column whose importance falls most from the past (x, y) to later."""
    # TODO
    raise NotImplementedError("leak")
