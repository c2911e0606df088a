"""Debug: six programs that do not export."""

from __future__ import annotations

from dataclasses import dataclass

import torch


def shift(x: torch.Tensor) -> torch.Tensor:
    """Return x + 1 if the sum of all elements is positive, else x - 1."""
    return torch.where(x.sum() > 0, x + 1, x - 1)


def scale(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element."""
    return x / x.max()


@dataclass
class Pair:
    """Two tensors of the same shape; a program may take a Pair if PyTorch knows the class."""

    left: torch.Tensor
    right: torch.Tensor


torch.export.register_dataclass(Pair)


def distance(pair: Pair) -> torch.Tensor:
    """Return the sum of the squared differences."""
    return (pair.left - pair.right).square().sum()


def average(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows of x: shape (3,) for x of shape (n, 3)."""
    return x.sum(0) / x.shape[0]


def positions(x: torch.Tensor) -> torch.Tensor:
    """Return x, (n, 3), with 0 added to row 0, 1 to row 1 and so on, in the dtype of x."""
    return x + torch.arange(x.shape[0])[:, None]


def flip(x: torch.Tensor) -> torch.Tensor:
    """Return -x if the sum of all elements is positive, else x."""
    result: torch.Tensor = torch.cond(x.sum() > 0, lambda y: -y, lambda y: y.clone(), (x,))
    return result
