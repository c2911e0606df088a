"""Other operators for each: cond, amax, mean, a running sum, where."""

from __future__ import annotations

from dataclasses import dataclass

import torch


def shift(x: torch.Tensor) -> torch.Tensor:
    """Return x + 1 if the sum of all elements is positive, else x - 1."""
    result: torch.Tensor = torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))
    return result


def scale(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element."""
    return x / x.amax()


@dataclass
class Pair:
    """Two tensors of one shape: what a program may take as its input, if PyTorch knows it."""

    left: torch.Tensor
    right: torch.Tensor


torch.export.register_dataclass(Pair)


def distance(pair: Pair) -> torch.Tensor:
    """Return the sum of the squared differences."""
    return (pair.left - pair.right).square().sum()


def average(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows of x, of shape (n, 3): shape (3,)."""
    return x.mean(0)


def positions(x: torch.Tensor) -> torch.Tensor:
    """Return x, (n, 3), with 0 added to row 0, 1 to row 1 and so on, in the dtype of x."""
    return x + (torch.ones_like(x).cumsum(0) - 1)


def flip(x: torch.Tensor) -> torch.Tensor:
    """Return -x if the sum of all elements is positive, else x."""
    return torch.where(x.sum() > 0, -x, x)
