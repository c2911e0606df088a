"""Scaling laws: eight small runs, a prediction, and how far to trust it."""

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
    floors = FRACTIONS[:, None] * losses.min()
    columns = torch.stack([torch.ones_like(sizes), sizes.log()], dim=1)
    logs = (losses - floors).log()
    lines = torch.linalg.lstsq(columns, logs.T).solution
    laws = floors + (columns @ lines).T.exp()
    best = (laws / losses).log().square().sum(dim=1).argmin()
    start, slope = lines[:, best].tolist()
    return Law(floors[best].item(), math.exp(start), -slope)


def interval(sizes: torch.Tensor, losses: torch.Tensor, size: float) -> tuple[float, float]:
    """Return a rough interval for the loss at a size: the prediction ± 2 standard errors.

    Use the jackknife's standard error. Leaving out each of the n runs in turn gives n predictions.
    The square of the error is (n - 1) / n times the sum of their squared distances from their mean.
    """
    runs = torch.arange(len(sizes))
    left_out = [fit(sizes[runs != run], losses[runs != run]).at(size) for run in runs]
    error = statistics.pstdev(left_out) * math.sqrt(len(runs) - 1)
    middle = fit(sizes, losses).at(size)
    return middle - 2 * error, middle + 2 * error
