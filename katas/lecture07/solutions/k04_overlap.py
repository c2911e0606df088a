"""Is the GPU busy? Compute, communication and idle time, as Holistic Trace Analysis counts them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence

    Interval = tuple[int, int]


class Breakdown(NamedTuple):
    """How a GPU spent its time, in microseconds."""

    compute: int
    busy: int
    idle: int
    overlap: int


def kind_of(row: Mapping[str, object]) -> str:
    """Return "memory", "communication", "compute", or "" for a row that is not of a GPU. Given."""
    name, cat = str(row.get("name")), row.get("cat")
    if cat in {"gpu_memcpy", "gpu_memset"}:
        return "memory"
    if cat != "kernel":
        return ""
    return "communication" if name.startswith("nccl") else "compute"


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the time the intervals cover, as sorted intervals that neither overlap nor touch."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def overlap(a: Sequence[Interval], b: Sequence[Interval]) -> int:
    """Return the total time that both lists cover; the intervals of one list may overlap."""
    alone = sum(end - start for each in (a, b) for start, end in merged(each))
    together = sum(end - start for start, end in merged([*a, *b]))
    return alone - together


def breakdown(rows: Sequence[Mapping[str, object]]) -> Breakdown:
    """Return how the GPU spent the time between its first start and last end."""
    kinds: dict[str, list[Interval]] = {"memory": [], "communication": [], "compute": []}
    for row in rows:
        if kind := kind_of(row):
            kinds[kind].append((row["ts"], row["ts"] + row["dur"]))
    covered = merged(chain(*kinds.values()))
    busy = sum(end - start for start, end in covered)
    compute = sum(end - start for start, end in merged(kinds["compute"]))
    both = overlap(kinds["compute"], kinds["communication"])
    return Breakdown(compute, busy, covered[-1][1] - covered[0][0] - busy, both)
