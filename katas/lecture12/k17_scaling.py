"""Scaling laws: eight small runs, a prediction, and how far to trust it.

On a log-log plot, the losses of models of growing size lie almost on a straight line. Somebody
draws it, predicts the loss at 32 times the largest size, and is off by a third:

    parameters      1M       2M       4M    ...   128M  |  4096M
    loss          5.35     4.58     3.98    ...   2.40  |   1.92
    line          5.10     4.55     4.06    ...   2.29  |   1.29      scale / size**exponent
    law           5.35     4.58     3.98    ...   2.40  |   1.91      floor + scale / size**exponent

There is a floor that no size gets below. Subtract it, and the rest is a line.

1. `fit`: try 400 floors at once, fit a line for each, and keep the best.
2. `interval`: leave out each run in turn. How much does the prediction move?

Begin with a single floor, 0: two columns, ``torch.linalg.lstsq``, a slope.

Real life differs: the data grows too, so there are two terms; fits minimise a Huber loss with
L-BFGS.
Afterwards read ``lstsq`` in ``torch/linalg/__init__.py``, in site-packages: which shapes may `B`
have?
"""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

import torch


# The floors to try, as fractions of the lowest loss.
FRACTIONS = torch.arange(400, dtype=torch.float64) / 400


class Law(NamedTuple):
    """The loss as a function of size: ``floor + scale / size**exponent``."""

    floor: float
    scale: float
    exponent: float

    def at(self, size: float) -> float:
        """Return the loss at this size. Given."""
        return float(self.floor + self.scale / size**self.exponent)


def fit(sizes: torch.Tensor, losses: torch.Tensor) -> Law:
    """Return the law that fits best. Both tensors are float64 and 1-dim, the runs in any order.

    For each floor in ``FRACTIONS * losses.min()``, fit a line to the logarithms of ``losses -
    floor`` over the logarithms of the sizes, by least squares. The best of these 400 laws has the
    smallest sum of squares of ``log(law) - log(loss)``.
    """
    # TODO: columns of ones and of log(size); lstsq takes many right-hand sides for one matrix.
    raise NotImplementedError("fit")


def interval(sizes: torch.Tensor, losses: torch.Tensor, size: float) -> tuple[float, float]:
    """Return a rough interval for the loss at a size: the prediction ± 2 standard errors.

    Use the jackknife's standard error. Leaving out each of the n runs in turn gives n predictions.
    The square of the error is (n - 1) / n times the sum of their squared distances from their mean.
    """
    # TODO: n fits for the error, one more for the prediction.
    raise NotImplementedError("interval")
