"""Sixteen trials that try sixteen learning rates.

Sixteen random trials leave, on average, more than a third of sixteen cells empty. The first sixteen
points of a Sobol sequence put one in each, however you divide the square into sixteen:

         4 x 4 cells               8 x 2 cells
    +----+----+----+----+     +---------+---------+
    |o   | o  |  o |   o|     |o        |       o |
    +----+----+----+----+     |     o   |  o      |
    |   o|  o | o  |o   |     |   o     |    o    |
    +----+----+----+----+     |      o  | o       |
    |  o |   o|o   | o  |     |       o |o        |
    +----+----+----+----+     |  o      |     o   |
    | o  |o   |   o|  o |     |    o    |   o     |
    +----+----+----+----+     | o       |      o  |
                              +---------+---------+

A 4 x 4 grid also has one point in each cell, but tries only four learning rates.

1. `sobol`: compute each point from the previous one with an exclusive or.
2. `cells`: count the points in each cell, as in the picture.
3. `scaled`: map the unit cube to the search space.

Begin on paper: write k = 0 to 7 in binary. Which is the lowest zero bit of each? PyTorch's points:

    print(torch.quasirandom.SobolEngine(2).draw(16, dtype=torch.float64))

Afterwards open ``torch/quasirandom.py`` in site-packages. What does ``scramble=True`` draw?
"""

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
    # TODO: use integers until the end; Python's ^ is the exclusive or.
    raise NotImplementedError("sobol")


def cells(points: torch.Tensor, cuts: Sequence[int]) -> torch.Tensor:
    """Return how many points each cell contains, int64 of size (2**cuts[0], 2**cuts[1], ...).

    `points` has size (count, len(cuts)) and coordinates in [0, 1). Dimension d is cut into
    2**cuts[d] equal parts; a point on a cut belongs to the upper part.
    """
    # TODO: one number for each cell, then torch.bincount.
    raise NotImplementedError("cells")


def scaled(points: torch.Tensor, space: Sequence[Range]) -> torch.Tensor:
    """Map points of the unit cube to hyperparameters, one column for each range of `space`.

    0 becomes `low`, and 1 would become `high`. With `log`, one half becomes the geometric mean of
    `low` and `high`.
    """
    # TODO: with `log`, equal steps multiply.
    raise NotImplementedError("scaled")
