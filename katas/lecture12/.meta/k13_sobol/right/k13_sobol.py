"""Sixteen trials that try sixteen learning rates."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


BITS = 30
# For dimensions 2 to 6: degree and inner coefficients of a polynomial, and the numbers to start
# from, as Joe and Kuo chose them.
POLYNOMIALS = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
)


def directions(dimension: int) -> list[list[int]]:
    """Return for each of up to 6 dimensions its 30 direction numbers, of 30 bits. Given."""
    rows = [[1 << (BITS - 1 - k) for k in range(BITS)]]
    for degree, coefficients, first in POLYNOMIALS[: dimension - 1]:
        row = [number << (BITS - 1 - k) for k, number in enumerate(first)]
        for k in range(degree, BITS):
            new = row[k - degree] ^ (row[k - degree] >> degree)
            for j in range(1, degree):
                new ^= row[k - j] * (coefficients >> (degree - 1 - j) & 1)
            row.append(new)
        rows.append(row)
    return rows


class Range(NamedTuple):
    """What a hyperparameter may be: from `low` up to `high`, evenly or evenly in the logarithm."""

    low: float
    high: float
    log: bool = False


def sobol(count: int, dimension: int) -> torch.Tensor:
    """Return the first points of the sequence, float64 of size (count, dimension)."""
    # Each point by itself, from the bits of its Gray code.
    k = torch.arange(count)
    gray = k ^ (k >> 1)
    found = torch.zeros(count, dimension, dtype=torch.int64)
    for column, row in enumerate(directions(dimension)):
        for bit, number in enumerate(row):
            found[:, column] ^= (gray >> bit & 1) * number
    return found / torch.tensor(2.0**BITS, dtype=torch.float64)


def cells(points: torch.Tensor, cuts: Sequence[int]) -> torch.Tensor:
    """Return how many points each cell contains, int64 of size (2**cuts[0], 2**cuts[1], ...)."""
    found = torch.zeros([2**cut for cut in cuts], dtype=torch.int64)
    for point in points.tolist():
        found[tuple(int(x * 2**cut) for x, cut in zip(point, cuts, strict=True))] += 1
    return found


def scaled(points: torch.Tensor, space: Sequence[Range]) -> torch.Tensor:
    """Return hyperparameters for points of the unit cube, a column for each range of `space`."""
    found = points.clone()
    for column, (low, high, log) in enumerate(space):
        ends = torch.tensor([low, high], dtype=points.dtype)
        low_end, high_end = ends.log() if log else ends
        found[:, column] = torch.lerp(low_end, high_end, points[:, column])
        if log:
            found[:, column].exp_()
    return found
