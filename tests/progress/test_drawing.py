"""A lecture's ring with an arc for each kata, and the curve of solved katas over time."""

from __future__ import annotations

import re
from datetime import UTC
from datetime import date
from datetime import datetime
from datetime import timedelta
from datetime import timezone

import pytest

from plugins.progress.drawing import RADIUS
from plugins.progress.drawing import SIZE
from plugins.progress.drawing import arc_paths
from plugins.progress.drawing import axis_top
from plugins.progress.drawing import curve_of
from plugins.progress.drawing import solved_by_day


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIRST, SECOND = date(2026, 11, 20), date(2026, 11, 22)


def test_two_arcs_are_halves() -> None:
    """The first lies on the right and runs down from the top, with a gap before the next."""
    right, left = arc_paths(2)

    assert "M37.26 8.03A28 28 0 0 1 37.26 63.97" == right
    assert "M34.74 63.97A28 28 0 0 1 34.74 8.03" == left


@pytest.mark.parametrize("count", [1, 3, 14, 200])
def test_arcs_lie_on_the_ring(count: int) -> None:
    """Any number of arcs has its ends on the circle, and no two share an end."""
    paths = arc_paths(count)
    numbers = [[float(n) for n in re.findall(r"[\d.]+", path)] for path in paths]
    ends = [(x, y) for n in numbers for x, y in ((n[0], n[1]), (n[7], n[8]))]

    assert count == len(paths)
    assert all(abs((x - SIZE / 2) ** 2 + (y - SIZE / 2) ** 2 - RADIUS**2) < 1 for x, y in ends)
    assert len(set(ends)) == len(ends)
    assert (1.0 if count == 1 else 0.0) == numbers[0][5]


def test_a_lecture_without_katas_has_none() -> None:
    """It has an empty ring."""
    assert [] == arc_paths(0)


def test_solutions_add_up_day_by_day() -> None:
    """Moments come in any order; a day without a solution is left out."""
    moments = ["2026-11-22T10:00:00+00:00", "2026-11-20T09:00:00+00:00", "2026-11-22T11:00:00Z"]

    assert [(FIRST, 1), (SECOND, 3)] == solved_by_day(moments, NOW)


def test_a_text_that_is_no_moment_does_not_count() -> None:
    """An unsolved kata has none, and a file may be damaged."""
    west = NOW.astimezone(timezone(timedelta(hours=-12)))

    assert [] == solved_by_day(["", "yesterday", "0001-01-01T00:00:00+12:00"], west)


def test_a_day_is_that_of_the_learner() -> None:
    """23:30 in UTC is the next day in Berlin."""
    berlin = NOW.astimezone(timezone(timedelta(hours=1)))

    assert [(SECOND, 1)] == solved_by_day(["2026-11-21T23:30:00+00:00"], berlin)


def test_the_curve_steps_in_the_middle_of_a_day() -> None:
    """And it goes on until today."""
    curve = curve_of([(FIRST, 1), (SECOND, 4)], date(2026, 11, 23))

    assert curve
    assert "M0 100H125V75H625V0H1000" == curve.edge
    assert f"{curve.edge}V100Z" == curve.area
    assert (4, (FIRST, date(2026, 11, 21), date(2026, 11, 23))) == (curve.top, curve.days)


def test_a_single_day_has_a_curve() -> None:
    """Even if the clock was set back since."""
    curve = curve_of([(SECOND, 1)], FIRST)

    assert curve
    assert ("M0 100H500V50H1000", (SECOND,)) == (curve.edge, curve.days)


def test_before_the_first_solution_there_is_none() -> None:
    """There are no axes without a curve."""
    assert curve_of([], SECOND) is None


@pytest.mark.parametrize(
    ("count", "top"), [(0, 2), (2, 2), (3, 4), (5, 10), (11, 20), (41, 50), (51, 100), (300, 400)]
)
def test_the_axis_ends_at_a_round_number(count: int, top: int) -> None:
    """It is even, since the axis also labels its half."""
    assert top == axis_top(count)
