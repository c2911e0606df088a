"""Is the GPU busy? Compute, communication and idle time, as Holistic Trace Analysis counts them.

A GPU runs several streams together, so the sum of its kernels' times says little:

    stream 7     [gemm......]        [gemm]
    stream 20         [all-reduce...]
    time         0    5     11     18 20  25     busy 23, idle 2, overlap 6

``sum`` says 11 + 13 + 5 = 29 of 25. Time that is covered twice is counted twice.

1. `merged`: a list of intervals without overlaps, sorted.
2. `overlap`: how long two lists are both covered.
3. `breakdown`: the numbers for a trace; about 22 lines in all.

Begin on paper: three intervals, one inside another, one that begins where another ends.
Afterwards read ``get_temporal_breakdown`` in ``hta/analyzers/breakdown_analysis.py``, and
``export_chrome_trace`` in ``torch/profiler/profiler.py``.

Real life differs: HTA knows more kinds of kernels, by longer rules.
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
    """Where the time of a GPU went, in microseconds."""

    compute: int
    busy: int
    idle: int
    overlap: int


def kind_of(row: Mapping[str, object]) -> str:
    """Return "memory", "communication", "compute", or "" for what no GPU has run. Given."""
    name, cat = str(row.get("name")), row.get("cat")
    if cat in {"gpu_memcpy", "gpu_memset"}:
        return "memory"
    if cat != "kernel":
        return ""
    return "communication" if name.startswith("nccl") else "compute"


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the time that the intervals cover, as sorted intervals that don't even touch.

    An interval (start, end) has ``start < end``.
    """
    # TODO: in the order of their starts, does one continue the last?
    raise NotImplementedError("merged")


def overlap(a: Sequence[Interval], b: Sequence[Interval]) -> int:
    """Return how long both are covered; each may overlap itself."""
    # TODO: how long are the two together, and each by itself?
    raise NotImplementedError("overlap")


def breakdown(rows: Sequence[Mapping[str, object]]) -> Breakdown:
    """Return where the time went between the first start and the last end on the GPU.

    Rows are those of a Chrome trace, with "ts" and "dur"; at least one is a GPU's. `compute` is the
    time in which a compute kernel runs, `busy` that in which anything of the GPU runs, `idle` the
    rest, and `overlap` that in which communication runs beside compute.
    """
    # TODO: one list of intervals for each kind.
    raise NotImplementedError("breakdown")
