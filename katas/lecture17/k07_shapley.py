"""Shapley values: a fair share, exactly, and then more cheaply.

Who earned what, if players only work together? Let them arrive in a random order, and pay each
player the rise in value when it arrives. The mean over all orders is the Shapley value:

    v(nobody) = 0, v(a) = 1, v(b) = 3, v(a and b) = 10

    order a, b    a gets 1, b gets 9         Shapley: a 4, b 6
    order b, a    a gets 7, b gets 3

For features, v of a set is the logit with these features, and the baseline in place of all others.

1. `exact`: over all 2**n sets. A gain when s others are present has weight s! (n - s - 1)! / n!.
2. `sampled`: over some orders, with n + 1 sets each. About 18 lines in all.

Both call v once, for a batch of sets.

Begin on paper: three players. Which sets do not contain player 0, and what are their weights?
Afterwards see ``cumsum`` and ``argsort`` in ``torch/_torch_docs.py``, in site-packages. Real life
differs: 30 features have a billion sets, so most Shapley values are sampled. Linear models and
trees have shortcuts.
"""

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
    # TODO: set number k has player i if bit i of k is set.
    raise NotImplementedError("exact")


def sampled(v: Callable[[torch.Tensor], torch.Tensor], orders: torch.Tensor) -> torch.Tensor:
    """Return the mean over `orders` [count, n] of what each player adds when it arrives.

    An order lists players: ``[2, 0, 1]`` says that player 2 comes first. With the empty set first,
    an order has n + 1 sets.
    """
    # TODO: argsort of an order says when each player arrives.
    raise NotImplementedError("sampled")
