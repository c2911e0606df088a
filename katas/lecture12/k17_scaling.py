"""Scaling laws: eight small runs, a prediction, and how far to trust it.

On double logarithmic paper the losses of models of growing size lie nearly on a straight line.
Someone draws it, promises a loss for 32 times the largest size, and is wrong by a third:

    parameters      1M       2M       4M    ...   128M  |  4096M
    loss          5.35     4.58     3.98    ...   2.40  |   1.92
    line          5.10     4.55     4.06    ...   2.29  |   1.29      scale / size**exponent
    law           5.35     4.58     3.98    ...   2.40  |   1.91      floor + scale / size**exponent

There is a floor that no size gets below. Take it away, and the rest is a line.

1. `fit`: try 400 floors at once, a line for each, and keep the best.
2. `interval`: leave each run out in turn. How much does the prediction move?

Begin with one floor, 0: two columns, ``torch.linalg.lstsq``, a slope.

Real life differs: the data grows too, so there are two terms; fits minimise a Huber loss by L-BFGS.
Afterwards read ``lstsq`` in ``torch/linalg/__init__.py``, in site-packages: which sizes has `B`?
"""

from __future__ import annotations

import math  # noqa: F401 - your answer may need it
import statistics  # noqa: F401 - your answer may need it
from typing import NamedTuple

import torch


# Which floors to try, as parts of the lowest loss.
FRACTIONS = torch.arange(400, dtype=torch.float64) / 400


class Law(NamedTuple):
    """What a loss is at each size: ``floor + scale / size**exponent``."""

    floor: float
    scale: float
    exponent: float

    def at(self, size: float) -> float:
        """Return the loss at this size. Given."""
        return float(self.floor + self.scale / size**self.exponent)


def fit(sizes: torch.Tensor, losses: torch.Tensor) -> Law:
    """Return the law closest to some runs; both are float64, one-dimensional, in any order.

    For each of the floors ``FRACTIONS * losses.min()``, the logarithms of ``losses - floor`` are a
    line over the logarithms of the sizes, by least squares. Of these 400 laws, the best has the
    least sum of squares of ``log(law) - log(loss)``.
    """
    # TODO: columns of ones and of log(size); lstsq takes many right sides for one matrix.
    raise NotImplementedError("fit")


def interval(sizes: torch.Tensor, losses: torch.Tensor, size: float) -> tuple[float, float]:
    """Return the ends of a rough interval for the loss at a size: the prediction ± 2 errors.

    The error is that of the jackknife. Of n runs, leave out each in turn: that makes n
    predictions. The square of the error is (n - 1) / n times the sum of their squared distances
    from their mean.
    """
    # TODO: n fits for the error, one more for the middle.
    raise NotImplementedError("interval")
