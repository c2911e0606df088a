"""Find out where the time goes: a profile's rows are nested."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(NamedTuple):
    """A row of one thread's profile: what ran, from when to when."""

    name: str
    start: float
    end: float


def self_times(rows: Sequence[Row]) -> dict[str, float]:
    """Return the self time of each name, summed over its rows.

    A row is either inside another or entirely outside it. The rows may come in any order; of two
    that begin together, the longer one is outside, or the first if they are equal.
    """
    own, outside = dict[str, float](), list[Row]()
    for row in sorted(rows, key=lambda row: (row.start, -row.end)):
        outside = [each for each in outside if each.end > row.start]
        own[row.name] = own.get(row.name, 0) + row.end - row.start
        if outside:
            own[outside[-1].name] -= row.end - row.start
        outside.append(row)
    return own
