"""Is the GPU busy? Compute, communication and idle time, as Holistic Trace Analysis counts them.

A GPU runs several streams at once, so the sum of its kernels' times says little:

    stream 7     [gemm......]        [gemm]
    stream 20         [all-reduce...]
    time         0    5     11     18 20  25     busy 23, idle 2, overlap 6

``sum`` gives 11 + 13 + 5 = 29 of 25, because time that is covered twice is counted twice.

1. `merged`: a sorted list of intervals without overlaps.
2. `overlap`: the total time that both lists cover.
3. `breakdown`: the numbers for a trace; about 22 lines in all.

Begin on paper: three intervals, one inside another, one that begins where another ends.
Afterwards read ``get_temporal_breakdown`` in ``hta/analyzers/breakdown_analysis.py``, and
``export_chrome_trace`` in ``torch/profiler/profiler.py``.

Real life differs: HTA knows more kinds of kernels, and its rules are longer.
"""

from __future__ import annotations

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
    """Return the time the intervals cover, as sorted intervals that neither overlap nor touch.

    An interval (start, end) has ``start < end``.
    """
    # TODO: go through them by start: does this one continue the last?
    raise NotImplementedError("merged")


def overlap(a: Sequence[Interval], b: Sequence[Interval]) -> int:
    """Return the total time that both lists cover; the intervals of one list may overlap."""
    # TODO: how long is the union of the two, and how long is each?
    raise NotImplementedError("overlap")


def breakdown(rows: Sequence[Mapping[str, object]]) -> Breakdown:
    """Return how the GPU spent the time between its first start and last end.

    Each row is an event from a Chrome trace, with "ts" and "dur"; at least one is a GPU's.
    `compute` is the time during which a compute kernel runs, `busy` the time during which anything
    runs on the GPU, `idle` the rest, and `overlap` the time during which communication and compute
    both run.
    """
    # TODO: one list of intervals for each kind.
    raise NotImplementedError("breakdown")
