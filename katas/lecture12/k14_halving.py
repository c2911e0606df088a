"""Successive halving, and the curves that cross.

Of 27 learning rates, which one is best after 81 epochs? Train all to the end, and that is 2187
epochs. Or train all for nine, keep the best third, and train those on:

    epochs in total       9        27        81
    runs                 27         9         3     one is left
    epochs spent        243       162       162     of 2187

It finds the best run if each rung keeps that one. With learning rates, often it is dropped:

    loss after epoch      9        27        81
    rate 0.5            1.2       1.8       1.2     quick, then stuck in its own noise
    rate 0.05           3.8       0.7       0.1     behind at first

1. `halving`: the rungs. A run is continued, never begun again.
2. `settled`: from which epoch on could you have trusted the order?

Begin on paper: 5 runs, factor 3. How many are there at each rung?

Afterwards read ``CosineAnnealingLR`` in ``torch/optim/lr_scheduler.py``, in site-packages: what
does the rate do after ``T_max`` steps? Which ``T_max`` suits a run that may stop at any rung?
"""

from __future__ import annotations

import math  # noqa: F401 - your answer may need it
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def halving(count: int, train: Callable[[int, int], float], first: int, factor: int) -> int:
    """Return which of the runs 0 to count - 1 is left.

    ``train(run, epochs)`` trains a run for that many epochs more, and returns its loss. The first
    rung trains all runs for `first` epochs. The best ``runs // factor`` of a rung go on, at least
    one, until each has been trained `factor` times as long as at the rung before. When one run is
    left it is not trained any more. Of equal losses, that of the lower number is better; NaN is as
    bad as inf.
    """
    # TODO: train takes additional epochs, not the total.
    raise NotImplementedError("halving")


def settled(curves: torch.Tensor) -> int:
    """Return the first epoch from which the winner leads to the end.

    `curves` has a row for each run and a column for each epoch: column 0 is the loss after epoch
    1. The winner has the lowest loss in the last column. Equal losses and NaN as in `halving`.
    """
    # TODO: who leads in each column, then backwards from the last.
    raise NotImplementedError("settled")
