"""Compute self times from a Chrome trace, as the profiler's table shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


class Call(NamedTuple):
    """A row of a trace; times in nanoseconds."""

    name: str
    thread: int
    start: int
    end: int


def read_calls(path: str | Path) -> list[Call]:
    """Return the operators and ranges of a trace file, in the order of the file. Given."""
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
    # Three decimals of microseconds are whole nanoseconds: their sums are exact, unlike floats'.
    return [
        Call(
            row["name"],
            row["tid"],
            start := round(row["ts"] * 1000),
            start + round(row["dur"] * 1000),
        )
        for row in rows
        if row["ph"] == "X" and row.get("cat") in {"cpu_op", "user_annotation"}
    ]


def parents(calls: Sequence[Call]) -> list[int | None]:
    """For each call, return the index of its parent, or None."""
    order = sorted(range(len(calls)), key=lambda i: (calls[i].start, -calls[i].end))
    found: list[int | None] = [None] * len(calls)
    stacks = defaultdict[int, list[int]](list)
    for i in order:
        stack = stacks[calls[i].thread]
        while stack and calls[stack[-1]].end <= calls[i].start:
            stack.pop()
        if stack:
            found[i] = stack[-1]
        stack.append(i)
    return found


def self_times(calls: Sequence[Call]) -> dict[str, int]:
    """Return the total self time of the calls of each name, in nanoseconds."""
    times = Counter[str]()
    for call, parent in zip(calls, parents(calls), strict=True):
        times[call.name] += call.end - call.start
        if parent is not None:
            times[calls[parent].name] -= call.end - call.start
    return dict(times)
