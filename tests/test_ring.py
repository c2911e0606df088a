"""A lecture as a ring: an arc for each kata."""

from __future__ import annotations

import re

import pytest

from plugins.ring import RADIUS
from plugins.ring import SIZE
from plugins.ring import arcs


def test_two_arcs_are_halves() -> None:
    """The first on the right, from the top down; a gap lies between them."""
    right, left = arcs(2)

    assert "M37.26 8.03A28 28 0 0 1 37.26 63.97" == right
    assert "M34.74 63.97A28 28 0 0 1 34.74 8.03" == left


@pytest.mark.parametrize("count", [1, 3, 14, 200])
def test_arcs_lie_on_the_ring(count: int) -> None:
    """However many they are, and however long one is."""
    paths = arcs(count)
    numbers = [[float(n) for n in re.findall(r"[\d.]+", path)] for path in paths]
    ends = [(x, y) for n in numbers for x, y in ((n[0], n[1]), (n[7], n[8]))]

    assert count == len(paths)
    assert all(abs((x - SIZE / 2) ** 2 + (y - SIZE / 2) ** 2 - RADIUS**2) < 1 for x, y in ends)
    assert len(set(ends)) == len(ends)
    assert (1.0 if count == 1 else 0.0) == numbers[0][5]


def test_a_lecture_without_katas_has_none() -> None:
    """Nothing is drawn."""
    assert [] == arcs(0)
