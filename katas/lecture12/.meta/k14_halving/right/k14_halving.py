"""Successive halving, and the curves that cross."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def halving(count: int, train: Callable[[int, int], float], first: int, factor: int) -> int:
    """Return which of the runs 0 to count - 1 is left."""
    # From the last run to the first one, and the best are drawn one after the other.
    alive, more = set(range(count)), first
    rung = 0
    while len(alive) > 1:
        losses = {run: train(run, more) for run in sorted(alive, reverse=True)}
        rung += 1
        more = first * factor**rung - first * factor ** (rung - 1)
        better: set[int] = set()
        for _ in range(len(alive) // factor or 1):
            best = min(alive - better)
            for run in sorted(alive - better):
                if losses[run] < losses[best] or (
                    math.isnan(losses[best]) and losses[run] < math.inf
                ):
                    best = run
            better.add(best)
        alive = better
    return next(iter(alive))


def settled(curves: torch.Tensor) -> int:
    """Return the first epoch from which the winner leads to the end."""
    key = [[math.inf if math.isnan(loss) else loss for loss in row] for row in curves.tolist()]
    leaders = [column.index(min(column)) for column in map(list, zip(*key, strict=True))]
    others = [epoch for epoch, run in enumerate(leaders, 1) if run != leaders[-1]]
    return max(others, default=0) + 1
