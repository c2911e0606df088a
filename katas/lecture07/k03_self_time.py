"""Compute self times from a Chrome trace, as the profiler's table shows them.

``prof.export_chrome_trace("trace.json")`` writes a row for each call: where it began, how long it
took, in which thread. The file does not say who called whom, but the picture does:

    thread 1   [ step ................................. ]
                  [ linear ............ ]   [ relu ... ]
                     [ t ]  [ addmm . ]
    thread 2            [ loader ..................... ]

A call inside another call of its thread is its child. Self time is a call's time minus that of its
children: for step, linear and relu.

1. `parents`: for each call, the innermost call around it.
2. `self_times`: the sums by name, about 14 lines in all.

Traces have a million rows, so don't compare each call with every other: go through the calls of a
thread in order of their start, with a stack of those that have not ended.

Begin on paper: t ends, addmm begins. What is on the stack?
Afterwards read ``_populate_cpu_children`` in ``torch/autograd/profiler_util.py``, in site-packages.
"""

from __future__ import annotations

import json
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
    """For each call, return the index of its parent, or None.

    A parent begins no later and ends no earlier than its child, in the same thread. If two calls
    begin at the same time, the longer one is the parent; if they also end at the same time, the
    parent is the one that comes first in `calls`. A call that begins where another ends is not its
    child. Calls of a thread either nest or do not overlap.
    """
    # TODO: sort the indices; a call that has ended leaves its thread's stack.
    raise NotImplementedError("parents")


def self_times(calls: Sequence[Call]) -> dict[str, int]:
    """Return the total self time of the calls of each name, in nanoseconds."""
    # TODO: add a call's duration to its own name, and subtract it from its parent's.
    raise NotImplementedError("self_times")
