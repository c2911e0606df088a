"""Sixteen trials that try sixteen learning rates."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


BITS = 30
# For dimensions 2 to 6: degree and inner coefficients of a polynomial, and the initial numbers,
# as Joe and Kuo chose them.
POLYNOMIALS = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
)


def directions(dimension: int) -> list[list[int]]:
    """Return 30 direction numbers, of 30 bits each, for each of up to 6 dimensions. Given."""
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
    """The range of a hyperparameter, `low` to `high`, on a linear or a logarithmic scale."""

    low: float
    high: float
    log: bool = False


def sobol(count: int, dimension: int) -> torch.Tensor:
    """Return the first `count` points of the sequence, float64 of size (count, dimension).

    Each coordinate is a 30-bit integer divided by 2**30. Point 0 is 0. In each dimension, point k +
    1 is point k XOR direction number c, where bit c is the lowest zero bit of k.
    """
    vectors = directions(dimension)
    point, points = [0] * dimension, []
    for k in range(count):
        points.append(point)
        zero = (k ^ (k + 1)).bit_length() - 1
        point = [x ^ vector[zero] for x, vector in zip(point, vectors, strict=True)]
    return torch.tensor(points, dtype=torch.float64) / 2.0**BITS


def cells(points: torch.Tensor, cuts: Sequence[int]) -> torch.Tensor:
    """Return how many points each cell contains, int64 of size (2**cuts[0], 2**cuts[1], ...).

    `points` has size (count, len(cuts)) and coordinates in [0, 1). Dimension d is cut into
    2**cuts[d] equal parts; a point on a cut belongs to the upper part.
    """
    cell = torch.zeros(len(points), dtype=torch.int64)
    for x, cut in zip(points.T, cuts, strict=True):
        cell = cell * 2**cut + (x * 2**cut).long()
    sizes = [2**cut for cut in cuts]
    return torch.bincount(cell, minlength=2 ** sum(cuts)).reshape(sizes)


def scaled(points: torch.Tensor, space: Sequence[Range]) -> torch.Tensor:
    """Map points of the unit cube to hyperparameters, one column for each range of `space`.

    0 becomes `low`, and 1 would become `high`. With `log`, one half becomes the geometric mean of
    `low` and `high`.
    """
    columns = [
        one.low * (one.high / one.low) ** x if one.log else one.low + (one.high - one.low) * x
        for x, one in zip(points.T, space, strict=True)
    ]
    return torch.stack(columns, dim=1)
