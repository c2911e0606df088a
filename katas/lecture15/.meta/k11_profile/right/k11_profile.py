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
    own: dict[str, float] = {}
    order = sorted(rows, key=lambda row: (row.start, -row.end))
    for number, row in enumerate(order):
        inside, at = 0.0, row.start
        for other in order[number + 1 :]:
            if other.start >= at and other.end <= row.end and other.start < row.end:
                inside, at = inside + other.end - other.start, other.end
        own[row.name] = own.get(row.name, 0) + row.end - row.start - inside
    return own
