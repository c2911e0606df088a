"""Tests of k08_cost: formulas against steps that are counted one by one."""

from __future__ import annotations

import math

import pytest

from katas.lecture13.conftest import same
from katas.lecture13.k08_cost import Link
from katas.lecture13.k08_cost import crossover
from katas.lecture13.k08_cost import doubling
from katas.lecture13.k08_cost import ring
from katas.lecture13.k08_cost import tree


LINKS = [Link(5e-6, 1e-10), Link(1.0, 0.0), Link(0.0, 1.0), Link(3.0, 7.0)]


def near(yours: float, expected: float, what: str) -> None:
    """Compare seconds."""
    __tracebackhide__ = True
    assert math.isclose(expected, yours, rel_tol=1e-9, abs_tol=1e-12), (
        f"{what}\nyours:    {yours}\nexpected: {expected}"
    )


def test_the_table_of_the_brief() -> None:
    """16 ranks, alpha 5 us, 10 GB/s."""
    link = LINKS[0]
    for name, size, shown in (("ring", 4, 150e-6), ("ring", 1e8, 18.9e-3)):
        yours = ring(16, size, link)
        assert abs(yours / shown - 1) < 0.01, (
            f"{name} of {size} B: yours {yours} s, expected {shown} s"
        )
    yours = doubling(16, 4, link), doubling(16, 1e8, link)
    near(yours[0], 20e-6 + 16e-10, "recursive doubling of 4 B: four rounds")
    near(yours[1], 20e-6 + 40e-3, "recursive doubling of 100 MB: all of it in each round")


def test_a_ring_step_by_step() -> None:
    """First n - 1 chunks arrive to be added, then n - 1 to be copied; one rank sends nothing."""
    for link in LINKS:
        for n in (1, 2, 3, 7):
            clock = sum(link.alpha + link.beta * 12 / n for _ in range(n - 1) for _ in "ab")
            near(ring(n, 12, link), clock, f"a ring of {n} ranks, 12 bytes, {link}")


def test_a_tree_round_by_round() -> None:
    """A broadcast doubles the ranks that have the tensor each round; a reduction takes as long."""
    for link in LINKS:
        for n in (1, 2, 3, 5, 8, 9, 16):
            rounds = next(rounds for rounds in range(9) if 2**rounds >= n)
            clock = 2 * rounds * (link.alpha + link.beta * 12)
            near(tree(n, 12, link), clock, f"a tree of {n} ranks, {rounds} rounds each way, {link}")


def test_doubling_round_by_round() -> None:
    """There is one pass, in which both partners send all they have."""
    for link in LINKS:
        for n in (1, 2, 4, 8, 32):
            rounds = next(rounds for rounds in range(9) if 2**rounds >= n)
            clock = rounds * (link.alpha + link.beta * 12)
            near(doubling(n, 12, link), clock, f"{n} ranks, {rounds} rounds, {link}")


@pytest.mark.parametrize("n", [4, 8, 64])
def test_at_the_border_both_take_as_long(n: int) -> None:
    """Doubling is faster below, the ring above."""
    for link in (LINKS[0], LINKS[3]):
        size = crossover(n, link)
        assert 0 < size < math.inf, (
            f"{n} ranks, {link}: your function says that the two algorithms cross over at {size} B"
        )
        near(ring(n, size, link), doubling(n, size, link), f"both at {size} B, {n} ranks, {link}")
        below, above = size * 0.9, size * 1.1
        found = tuple(doubling(n, each, link) < ring(n, each, link) for each in (below, above))
        same(found, (True, False), f"is doubling faster below and above {size} B, {n} ranks?")


def test_they_may_never_cross() -> None:
    """With two ranks a ring sends as many bytes in twice as many messages; or bytes are free."""
    same(crossover(2, LINKS[0]), math.inf, "two ranks")
    same(crossover(8, LINKS[1]), math.inf, "bytes are free")
