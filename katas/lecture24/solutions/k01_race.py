"""Draw tokens by letting them race."""

from __future__ import annotations

import torch


def one(p: torch.Tensor, dice: torch.Generator) -> torch.Tensor:
    """Return a token for each row of p [..., n], int64 [..., 1], as ``multinomial(p, 1)`` does."""
    return several(p, 1, dice)


def several(p: torch.Tensor, count: int, dice: torch.Generator) -> torch.Tensor:
    """Return the first `count` tokens to arrive, [..., count], the fastest first."""
    race = p / torch.empty_like(p).exponential_(generator=dice)
    speed, token = race.topk(count)
    return torch.where(speed > 0, token, -1)


def chance(p: torch.Tensor, order: list[int]) -> float:
    """Return the probability that these tokens arrive first, in this order; p [n] sums to 1.

    Return 0 if a token of probability 0 is named, even when no probability is left.
    """
    values = p[order]
    return float((values / (1 - values.cumsum(0) + values)).nan_to_num().prod())
