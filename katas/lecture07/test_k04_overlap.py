"""Tests of k04_overlap: every microsecond is counted, and HTA reads the same trace."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture07.k04_overlap import Breakdown
from katas.lecture07.k04_overlap import breakdown
from katas.lecture07.k04_overlap import kind_of
from katas.lecture07.k04_overlap import merged
from katas.lecture07.k04_overlap import overlap
from plugins.kit import install_group


if TYPE_CHECKING:
    from pathlib import Path

Intervals = list[tuple[int, int]]
drawn = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9)).map(lambda pair: (pair[0], sum(pair))),
    max_size=8,
)


def covered(intervals: Intervals) -> set[int]:
    """Return each covered microsecond, by its beginning."""
    return {time for start, end in intervals for time in range(start, end)}


def by_the_microsecond(rows: list[dict]) -> Breakdown:
    """Compute the breakdown by counting microseconds one by one."""
    kinds: dict[str, set[int]] = {"memory": set(), "communication": set(), "compute": set()}
    for row in rows:
        if kind := kind_of(row):
            kinds[kind] |= covered([(row["ts"], row["ts"] + row["dur"])])
    every = set().union(*kinds.values())
    whole = max(every) + 1 - min(every)
    both = kinds["compute"] & kinds["communication"]
    return Breakdown(len(kinds["compute"]), len(every), whole - len(every), len(both))


def read(path: Path) -> list[dict]:
    """Return the rows of a trace."""
    return json.loads(path.read_text(encoding="utf-8"))["traceEvents"]


def kernel(name: str, start: int, end: int, cat: str = "kernel") -> dict:
    """Return a row of a GPU's trace."""
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": end - start}


def test_two_that_overlap() -> None:
    """Two overlapping intervals become one, from the first start to the last end."""
    yours = merged([(0, 11), (5, 18)])
    assert [(0, 18)] == yours, f"yours {yours}, expected [(0, 18)]"


@example([(0, 9), (2, 4), (6, 12)])
@example([(0, 3), (3, 6)])
@example([(5, 6), (0, 2), (0, 9)])
@given(drawn)
def test_merged(intervals: Intervals) -> None:
    """Intervals come in any order; one may be inside another or begin where another ends."""
    before = list(intervals)
    yours = merged(intervals)

    assert before == intervals, "your code changed the list it was given"
    assert covered(intervals) == covered(yours), (
        f"{intervals}: yours {yours} covers different times"
    )
    flat = [time for interval in yours for time in interval]
    assert flat == sorted(set(flat)), (
        f"{intervals}: yours {yours}, expected sorted intervals, none of which touch"
    )


@example([(0, 9), (2, 4)], [(3, 5)])
@given(drawn, drawn)
def test_overlap(a: Intervals, b: Intervals) -> None:
    """Time that a list covers several times counts once."""
    right, yours = len(covered(a) & covered(b)), overlap(a, b)
    assert right == yours, f"{a} and {b}: yours {yours} us, expected {right}"


def test_the_picture() -> None:
    """A GPU runs two streams, as in the brief."""
    rows = [kernel("gemm", 0, 11), kernel("ncclAllReduce", 5, 18), kernel("gemm", 20, 25)]
    yours, right = breakdown(rows), Breakdown(compute=16, busy=23, idle=2, overlap=6)
    assert right == yours, f"yours     {yours}\nexpected  {right}"


def test_copies_are_work_and_no_compute() -> None:
    """A GPU that copies is busy but not computing, and a trace need not begin at 0."""
    rows = [kernel("Memcpy HtoD", 105, 112, "gpu_memcpy"), kernel("add", 110, 113)]
    rows.append(kernel("Memset", 120, 121, "gpu_memset"))
    yours, right = breakdown(rows), Breakdown(compute=3, busy=9, idle=7, overlap=0)
    assert right == yours, f"yours     {yours}\nexpected  {right}"


def test_the_trace_of_a_gpu(traces: dict[str, Path]) -> None:
    """The trace also has the calls that launched the kernels, which are CPU time."""
    rows = read(traces["gpu"])
    yours, right = breakdown(rows), by_the_microsecond(rows)
    assert right == yours, f"yours     {yours}\nexpected  {right}"
    if find_spec("hta"):
        theirs = by_hta(traces["gpu"])
        assert theirs[:3] == yours[:3], (
            f"compute, busy, idle: yours {yours[:3]}, HTA's {theirs[:3]}"
        )


def test_only_work_of_the_gpu_counts() -> None:
    """Calls do not count, a copy is not compute, and the first row need not be the earliest."""
    rows = [
        kernel("cudaLaunchKernel", 0, 2, "cuda_runtime"),
        kernel("Memset", 55, 56, "gpu_memset"),
        kernel("gemm", 30, 50),
        kernel("ncclAllReduce", 10, 40),
        kernel("Memcpy HtoD", 5, 12, "gpu_memcpy"),
        kernel("cudaDeviceSynchronize", 41, 70, "cuda_runtime"),
    ]
    yours, right = breakdown(rows), Breakdown(compute=20, busy=46, idle=5, overlap=10)
    assert right == yours, (
        f"yours     {yours}\nexpected  {right}: the GPU works from 5 to 56, and communication"
        " overlaps compute from 30 to 40"
    )


def by_hta(path: Path) -> tuple[int, int, int, float]:
    """Return HTA's compute, busy and idle time, and its percentage of overlap."""
    from hta.trace_analysis import TraceAnalysis  # noqa: PLC0415 - may be missing

    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    compute, idle = int(row["compute_time(us)"]), int(row["idle_time(us)"])
    share = analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    return compute, int(row["kernel_time(us)"]) - idle, idle, float(share)


@pytest.mark.given
@pytest.mark.skipif(
    not find_spec("hta"),
    reason=f"Holistic Trace Analysis is not installed; {install_group('traces')}",
)
def test_hta_counts_microseconds_too(traces: dict[str, Path]) -> None:
    """HTA's numbers for the same file are those that the other tests expect."""
    rows = read(traces["gpu"])
    right = by_the_microsecond(rows)
    compute, busy, idle, share = by_hta(traces["gpu"])
    talking = {
        t for r in rows if kind_of(r) == "communication" for t in range(r["ts"], r["ts"] + r["dur"])
    }

    assert right[:3] == (compute, busy, idle), "HTA's compute, busy and idle times differ"
    assert share == pytest.approx(100 * right.overlap / len(talking), abs=0.01), (
        "HTA's overlap differs"
    )
