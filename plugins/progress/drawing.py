"""Paths of SVG for the page: a lecture's ring of katas, and the curve of solved katas.

Imports neither pytest nor torch.
"""

from __future__ import annotations

import math
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


# The side of the square around a ring.
SIZE = 72
RADIUS = 28
# Radians between two arcs.
GAP = 0.09
# The curve has units of its own and is stretched to the room that the page has.
WIDTH = 1000
HEIGHT = 100
# The numbers, times a power of ten, at which the curve's axis may end.
STEPS = (1, 2, 4, 5, 10)


def arc_paths(count: int) -> list[str]:
    """Return the paths of `count` arcs of equal length, clockwise from the top."""
    gap = min(GAP, math.pi / 2 / max(count, 1))
    step = math.tau / max(count, 1)
    return [_arc(n * step + gap / 2, (n + 1) * step - gap / 2) for n in range(count)]


def _arc(start: float, end: float) -> str:
    (x, y), (to_x, to_y) = _point(start), _point(end)
    large = int(end - start > math.pi)
    return f"M{x:g} {y:g}A{RADIUS} {RADIUS} 0 {large} 1 {to_x:g} {to_y:g}"


def _point(angle: float) -> tuple[float, float]:
    middle = SIZE / 2
    x, y = middle + RADIUS * math.sin(angle), middle - RADIUS * math.cos(angle)
    return round(x, 2), round(y, 2)


@dataclass(frozen=True)
class Curve:
    """A curve to draw: the outline of its area, its upper edge, and the labels of its axes."""

    area: str
    edge: str
    top: int
    days: tuple[date, ...]


def solved_by_day(moments: Iterable[str], now: datetime) -> list[tuple[date, int]]:
    """Return each day with a solution, and how many katas were solved by its end.

    The moments are in ISO 8601; other texts, such as "", do not count. The days are those of the
    time zone of `now`.
    """
    days = Counter[date]()
    for moment in moments:
        with suppress(ValueError, OverflowError):
            days[datetime.fromisoformat(moment).astimezone(now.tzinfo).date()] += 1
    ordered = sorted(days)
    return list(zip(ordered, accumulate(days[day] for day in ordered), strict=True))


def curve_of(days: Sequence[tuple[date, int]], today: date) -> Curve | None:
    """Return the curve from the first solution until today, or None if there is none yet."""
    if not days:
        return None
    first, last = days[0][0], max(days[-1][0], today)
    # The curve steps up in the middle of a day.
    span = (last - first).days + 1
    top = axis_top(days[-1][1])
    steps = [f"M0 {HEIGHT}"]
    for day, count in days:
        x = round(WIDTH * ((day - first).days + 0.5) / span, 1)
        steps.append(f"H{x:g}V{round(HEIGHT * (1 - count / top), 1):g}")
    edge = "".join(steps) + f"H{WIDTH}"
    middle = first + (last - first) / 2
    shown = tuple(dict.fromkeys((first, middle, last)))
    return Curve(f"{edge}V{HEIGHT}Z", edge, top, shown)


def axis_top(count: int) -> int:
    """Return a round, even number that is at least `count`: the axis also labels its half."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= max(count, 2) and step * power % 2 == 0:
                return step * power
        power *= 10
