"""How many katas had been solved when: days, and the curve through them. No pytest, no torch."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence


# The curve's own units: it is stretched to whatever room there is.
WIDTH = 1000
HEIGHT = 100
# What the highest line may stand for, times a power of ten.
STEPS = (1, 2, 4, 5, 10)


@dataclass(frozen=True)
class Curve:
    """A curve to draw: the outline of its area, its upper edge, and what its axes say."""

    area: str
    edge: str
    top: int
    days: tuple[date, ...]


def solved_by_day(moments: Iterable[str], now: datetime) -> list[tuple[date, int]]:
    """Return for each day with a solution how many katas had been solved at its end.

    The moments are in ISO 8601; what is none, such as "", does not count. The days are those of
    the time zone of `now`.
    """
    days = Counter[date]()
    for moment in moments:
        with suppress(ValueError, OverflowError):
            days[datetime.fromisoformat(moment).astimezone(now.tzinfo).date()] += 1
    ordered = sorted(days)
    return list(zip(ordered, accumulate(days[day] for day in ordered), strict=True))


def curve_of(days: Sequence[tuple[date, int]], today: date) -> Curve | None:
    """Return the curve from the first solution until today; None if there is none yet."""
    if not days:
        return None
    first, last = days[0][0], max(days[-1][0], today)
    # A step stands in the middle of its day.
    span = (last - first).days + 1
    top = top_of(days[-1][1])
    steps = [f"M0 {HEIGHT}"]
    for day, count in days:
        x = round(WIDTH * ((day - first).days + 0.5) / span, 1)
        steps.append(f"H{x:g}V{round(HEIGHT * (1 - count / top), 1):g}")
    edge = "".join(steps) + f"H{WIDTH}"
    middle = first + (last - first) / 2
    shown = tuple(dict.fromkeys((first, middle, last)))
    return Curve(f"{edge}V{HEIGHT}Z", edge, top, shown)


def top_of(count: int) -> int:
    """Return a round number that is at least `count`, and even so that its half is one too."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= max(count, 2) and step * power % 2 == 0:
                return step * power
        power *= 10
