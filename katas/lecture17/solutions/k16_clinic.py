"""The clinic: three models that pass their tests and are ill."""

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
    z = x.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(model(z)[torch.arange(len(x)), y].sum(), z)
    place = (slopes * (x - x.mean(0))).abs().mean((0, 1)).argmax()
    return divmod(int(place), x.shape[-1])


def flips(model: nn.Module, x: torch.Tensor, y: torch.Tensor, region: Region) -> float:
    """Return the share of images whose answer changes with the region.

    Each image gets the region of the first image of another class; everything else stays.
    """
    donors, swapped = torch.stack([x[y != label][0] for label in y]), x.clone()
    swapped[:, :, region[0], region[1]] = donors[:, :, region[0], region[1]]
    return float((model(x).argmax(1) != model(swapped).argmax(1)).double().mean())


def shuffled(x: torch.Tensor, region: Region, dice: torch.Generator) -> torch.Tensor:
    """Return a copy of the images, in which image i has the region of image ``order[i]``.

    `order` is a random permutation from `dice`: the regions look as before, but no longer tell
    the classes apart.
    """
    mixed, order = x.clone(), torch.randperm(len(x), generator=dice)
    mixed[:, :, region[0], region[1]] = x[order][:, :, region[0], region[1]]
    return mixed


def revive(
    first: nn.Linear, second: nn.Linear, x: torch.Tensor, dice: torch.Generator
) -> list[int]:
    """Wake the dead units of ``second(relu(first(x)))`` in place, and return their indices.

    A unit is dead if it is 0 for every row of x; there may be no dead unit. It gets normal weights
    from `dice`, divided by the square root of the number of inputs, and a bias with which it fires
    for half of the rows. Layers and x have the same dtype, such as float64. Change neither
    the outputs for x nor the other units.
    """
    with torch.no_grad():
        dead: list[int] = (first(x) <= 0).all(0).nonzero().flatten().tolist()
        for unit in dead:
            fresh = torch.randn(x.shape[1], generator=dice, dtype=x.dtype) / x.shape[1] ** 0.5
            first.weight[unit] = fresh
            first.bias[unit] = -(x @ fresh).quantile(0.5)
            second.weight[:, unit] = 0.0
    return dead


def importance(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, dice: torch.Generator
) -> list[float]:
    """For each column of x, return how much the accuracy falls if only that one is permuted.

    Draw one permutation for each column from `dice`, in the order of the columns.
    """
    right = (model(x).argmax(1) == y).double().mean()
    found = []
    for column in range(x.shape[1]):
        mixed = x.clone()
        mixed[:, column] = x[torch.randperm(len(x), generator=dice), column]
        found.append((right - (model(mixed).argmax(1) == y).double().mean()).item())
    return found


def leak(
    model: nn.Module,
    past: tuple[torch.Tensor, torch.Tensor],
    later: tuple[torch.Tensor, torch.Tensor],
    dice: torch.Generator,
) -> int:
    """Return the column whose importance falls most from the past (x, y) to later."""
    before, after = (torch.tensor(importance(model, *each, dice)) for each in (past, later))
    return int((before - after).argmax())
