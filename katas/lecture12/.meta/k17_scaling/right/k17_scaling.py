"""Scaling laws: eight small runs, a prediction, and how far to trust it."""

from __future__ import annotations

import math
import statistics
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
    floors = FRACTIONS[:, None] * losses.min()
    columns = torch.stack([torch.ones_like(sizes), sizes.log()], dim=1)
    logs = (losses - floors).log()
    lines = torch.linalg.lstsq(columns.expand(len(floors), -1, -1), logs[..., None]).solution
    laws = floors + (columns @ lines).squeeze(-1).exp()
    best = (laws / losses).log().square().sum(dim=1).argmin()
    (start,), (slope,) = lines[best].tolist()
    return Law(floors[best].item(), math.exp(start), -slope)


def interval(sizes: torch.Tensor, losses: torch.Tensor, size: float) -> tuple[float, float]:
    """Return the lowest and the highest loss to expect at a size: the prediction ± 2 errors.

    The error is that of the jackknife. Of n runs, leave out one after the other: that makes n
    predictions. The square of the error is (n - 1) / n times the sum of their squared distances
    from their mean.
    """
    runs = torch.arange(len(sizes))
    left_out = [fit(sizes[runs != run], losses[runs != run]).at(size) for run in runs]
    error = statistics.pstdev(left_out) * math.sqrt(len(runs) - 1)
    middle = fit(sizes, losses).at(size)
    return middle - 2 * error, middle + 2 * error
