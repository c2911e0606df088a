"""Successive halving, and learning curves that cross."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def halving(count: int, train: Callable[[int, int], float], first: int, factor: int) -> int:
    """Return which of the runs 0 to count - 1 remains.

    ``train(run, epochs)`` trains a run for that many more epochs and returns its loss. The first
    rung trains all runs for `first` epochs. The best ``runs // factor`` of a rung, at least one,
    move up to the next, which trains each until its total is `factor` times that of the previous
    rung. Stop training when one run remains. If losses are equal, the lower number wins; NaN counts
    as inf.
    """
    alive, before, after = list(range(count)), 0, first
    while len(alive) > 1:
        losses = {run: train(run, after - before) for run in alive}
        alive.sort(key=lambda run: (math.inf if math.isnan(losses[run]) else losses[run], run))
        alive = alive[: max(1, len(alive) // factor)]
        before, after = after, after * factor
    return alive.pop()


def settled(curves: torch.Tensor) -> int:
    """Return the first epoch from which the winner leads to the end.

    `curves` has a row for each run and a column for each epoch: column 0 holds the losses after
    epoch 1. The winner has the lowest loss in the last column. Treat equal losses and NaN as in
    `halving`.
    """
    leaders = curves.where(~curves.isnan(), math.inf).argmin(0).tolist()
    epoch = len(leaders)
    while epoch > 1 and leaders[epoch - 2] == leaders[-1]:
        epoch -= 1
    return epoch
