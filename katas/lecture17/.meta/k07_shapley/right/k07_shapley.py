"""The same, set by set and not player by player."""

from __future__ import annotations

from itertools import product
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
    sets = torch.tensor(list(product([False, True], repeat=n)))
    values = v(sets)
    total = torch.zeros(n, dtype=torch.float64)
    for members, value in zip(sets, values, strict=True):
        # Each set is in the gains of its members, and is taken away from the gains of the others.
        s = int(members.sum())
        joined = factorial(max(s - 1, 0)) * factorial(n - s) / factorial(n)
        left = factorial(s) * factorial(max(n - s - 1, 0)) / factorial(n)
        total += torch.where(members, joined * value, -left * value)
    return total


def sampled(v: Callable[[torch.Tensor], torch.Tensor], orders: torch.Tensor) -> torch.Tensor:
    """Return the mean over `orders` [count, n] of what each player adds when it arrives.

    An order lists players: ``[2, 0, 1]`` says that player 2 comes first. With the empty set first,
    an order has n + 1 sets.
    """
    count, n = orders.shape
    present = orders.argsort(1)[:, None] < torch.arange(n + 1)[:, None]
    gains = v(present.flatten(0, 1)).view(count, n + 1).diff(dim=1)
    return torch.zeros_like(gains).scatter(1, orders, gains).mean(0)
