"""Draw tokens by letting them race: by time, not by speed, and the chance by a loop."""

from __future__ import annotations

import torch


def one(p: torch.Tensor, dice: torch.Generator) -> torch.Tensor:
    """Return a token for each row of p [..., n], int64 [..., 1], as ``multinomial(p, 1)`` does."""
    times = torch.empty_like(p).exponential_(generator=dice)
    return (p / times).argmax(-1, keepdim=True)


def several(p: torch.Tensor, count: int, dice: torch.Generator) -> torch.Tensor:
    """Return the first `count` tokens to arrive, [..., count], the fastest first."""
    times = torch.empty_like(p).exponential_(generator=dice) / p
    order = times.argsort(-1)[..., :count]
    return order.masked_fill(p.gather(-1, order) == 0, -1)


def chance(p: torch.Tensor, order: list[int]) -> float:
    """Return the probability that these tokens arrive first, in this order; p [n] sums to 1.

    Return 0 if a token of probability 0 is named, even when no probability is left.
    """
    product, left = 1.0, 1.0
    for value in p[order].tolist():
        product *= value / left if value else 0
        left -= value
    return product
