"""Draw tokens by letting them race.

`torch.multinomial` does not loop over the probabilities to draw one token. Each token runs for a
time drawn from Exp(1), divided by its probability, and the first to arrive wins:

    times = torch.empty_like(p).exponential_(generator=dice)      # dice: a torch.Generator
    (p / times).argmax()                                           # the fastest

1. `one`: what ``multinomial(p, 1)`` returns.
2. `several`: without replacement, in order of arrival. First ask PyTorch for 3 tokens
   when only 2 are possible.
3. `chance`: the probability of an order.

Afterwards read ``multinomial`` in ``aten/src/ATen/native/Distributions.cpp``, in PyTorch's
repository.
"""

from __future__ import annotations

import torch


def one(p: torch.Tensor, dice: torch.Generator) -> torch.Tensor:
    """Return a token for each row of p [..., n], int64 [..., 1], as ``multinomial(p, 1)`` does."""
    # TODO
    raise NotImplementedError("one")


def several(p: torch.Tensor, count: int, dice: torch.Generator) -> torch.Tensor:
    """Return the first `count` tokens to arrive, [..., count], the fastest first.

    Use -1 once no token with a positive probability is left. `count` is at most n.
    """
    # TODO
    raise NotImplementedError("several")


def chance(p: torch.Tensor, order: list[int]) -> float:
    """Return the probability that these tokens arrive first, in this order; p [n] sums to 1.

    Return 0 if a token of probability 0 is named, even when no probability is left.
    """
    # TODO: once a token has arrived, the others share the remaining probability.
    raise NotImplementedError("chance")
