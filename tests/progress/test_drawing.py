"""Progress over time: the days of solutions, and the curve through them."""

from __future__ import annotations

from datetime import UTC
from datetime import date
from datetime import datetime
from datetime import timedelta
from datetime import timezone

import pytest

from plugins.history import curve_of
from plugins.history import solved_by_day
from plugins.history import top_of


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIRST, SECOND = date(2026, 11, 20), date(2026, 11, 22)


def test_solutions_add_up_day_by_day() -> None:
    """In any order; a day without any is left out."""
    moments = ["2026-11-22T10:00:00+00:00", "2026-11-20T09:00:00+00:00", "2026-11-22T11:00:00Z"]

    assert [(FIRST, 1), (SECOND, 3)] == solved_by_day(moments, NOW)


def test_what_is_no_moment_does_not_count() -> None:
    """A kata that is not solved has none, and a file may be damaged."""
    west = NOW.astimezone(timezone(timedelta(hours=-12)))

    assert [] == solved_by_day(["", "yesterday", "0001-01-01T00:00:00+12:00"], west)


def test_a_day_is_that_of_the_learner() -> None:
    """Half past eleven in the evening, in UTC, is the next day in Berlin."""
    berlin = NOW.astimezone(timezone(timedelta(hours=1)))

    assert [(SECOND, 1)] == solved_by_day(["2026-11-21T23:30:00+00:00"], berlin)


def test_the_curve_steps_in_the_middle_of_a_day() -> None:
    """And goes on until today."""
    curve = curve_of([(FIRST, 1), (SECOND, 4)], date(2026, 11, 23))

    assert curve
    assert "M0 100H125V75H625V0H1000" == curve.edge
    assert f"{curve.edge}V100Z" == curve.area
    assert (4, (FIRST, date(2026, 11, 21), date(2026, 11, 23))) == (curve.top, curve.days)


def test_a_single_day_has_a_curve() -> None:
    """Even if the clock was put back since."""
    curve = curve_of([(SECOND, 1)], FIRST)

    assert curve
    assert ("M0 100H500V50H1000", (SECOND,)) == (curve.edge, curve.days)


def test_before_the_first_solution_there_is_none() -> None:
    """No axes without a curve."""
    assert curve_of([], SECOND) is None


@pytest.mark.parametrize(
    ("count", "top"), [(0, 2), (2, 2), (3, 4), (5, 10), (11, 20), (41, 50), (51, 100), (300, 400)]
)
def test_the_axis_ends_at_a_round_number(count: int, top: int) -> None:
    """Whose half is whole."""
    assert top == top_of(count)
