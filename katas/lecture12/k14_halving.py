"""Successive halving, and learning curves that cross.

Which of 27 learning rates is best after 81 epochs? Training all of them to the end takes 2187
epochs. Or train each for nine, keep the best third, and train those further:

    epochs in total       9        27        81
    runs                 27         9         3     one is left
    epochs spent        243       162       162     of 2187

This finds the best run if every rung keeps it. With learning rates, it is often dropped:

    loss after epoch      9        27        81
    rate 0.5            1.2       1.8       1.2     fast, then stuck in its own noise
    rate 0.05           3.8       0.7       0.1     behind at first

1. `halving`: run the rungs. Continue each run, never restart it.
2. `settled`: find the epoch from which the order could have been trusted.

Begin on paper: with 5 runs and factor 3, how many runs are on each rung?

Afterwards read ``CosineAnnealingLR`` in ``torch/optim/lr_scheduler.py``, in site-packages: what
does the rate do after ``T_max`` steps? Which ``T_max`` suits a run that may stop at any rung?
"""

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
    # TODO: train takes the additional epochs, not the total.
    raise NotImplementedError("halving")


def settled(curves: torch.Tensor) -> int:
    """Return the first epoch from which the winner leads to the end.

    `curves` has a row for each run and a column for each epoch: column 0 holds the losses after
    epoch 1. The winner has the lowest loss in the last column. Treat equal losses and NaN as in
    `halving`.
    """
    # TODO: find the leader of each column, then go backwards from the last.
    raise NotImplementedError("settled")
