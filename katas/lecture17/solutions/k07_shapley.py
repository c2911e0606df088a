"""Shapley values: a fair share, exactly, and then more cheaply."""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def exact(v: Callable[[torch.Tensor], torch.Tensor], n: int) -> torch.Tensor:
    """Return the Shapley value of each of n players, float64.

    `v` takes bool tensors [sets, n], True for each player present, and returns float64 values
    [sets].
    """
    sets = torch.arange(2**n)
    values = v((sets[:, None] >> torch.arange(n)) % 2 == 1)
    found = []
    for i in range(n):
        without = sets[(sets >> i) % 2 == 0]
        others = [int(s).bit_count() for s in without]
        weights = [factorial(s) * factorial(n - s - 1) / factorial(n) for s in others]
        gains = values[without + 2**i] - values[without]
        found.append((torch.tensor(weights, dtype=torch.float64) * gains).sum())
    return torch.stack(found)


def sampled(v: Callable[[torch.Tensor], torch.Tensor], orders: torch.Tensor) -> torch.Tensor:
    """Return the mean over `orders` [count, n] of what each player adds when it arrives.

    An order lists players: ``[2, 0, 1]`` says that player 2 comes first. With the empty set first,
    an order has n + 1 sets.
    """
    count, n = orders.shape
    present = orders.argsort(1)[:, None] < torch.arange(n + 1)[:, None]
    gains = v(present.flatten(0, 1)).view(count, n + 1).diff()
    return torch.zeros_like(gains).scatter(1, orders, gains).mean(0)
