"""Tests of k03_self_time: the oracles are the profiler's own table and a slow definition."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity
from torch.profiler import profile
from torch.profiler import record_function

from katas.lecture07.k03_self_time import Call
from katas.lecture07.k03_self_time import parents
from katas.lecture07.k03_self_time import read_calls
from katas.lecture07.k03_self_time import self_times


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path
    from types import FrameType


PICTURE = [
    Call("step", 1, 0, 100),
    Call("linear", 1, 10, 50),
    Call("t", 1, 12, 20),
    Call("addmm", 1, 25, 45),
    Call("relu", 1, 60, 80),
    Call("loader", 2, 5, 90),
]


def slow_parents(calls: Sequence[Call]) -> list[int | None]:
    """For each call, return the shortest call around it; in a tie, the last in the list."""
    found: list[int | None] = []
    for number, call in enumerate(calls):
        around = [
            other
            for other, each in enumerate(calls)
            if each.thread == call.thread
            and each.start <= call.start < each.end
            and call.end <= each.end
            and (other < number or (each.start, each.end) != (call.start, call.end))
            and other != number
        ]
        closest = max(around, key=lambda i: (calls[i].start, -calls[i].end, i), default=None)
        found.append(closest)
    return found


def compare_parents(calls: Sequence[Call], why: str) -> None:
    """Compare the parents of calls with those of the definition."""
    __tracebackhide__ = True
    before = list(calls)
    yours, right = parents(calls), slow_parents(calls)
    assert before == list(calls), "your code changed the list of calls"
    for call, mine, theirs in zip(calls, yours, right, strict=True):
        names = [None if i is None else calls[i] for i in (mine, theirs)]
        assert names[0] == names[1], (
            f"parent of {call}\nyours     {names[0]}\nexpected  {names[1]}\n{why}"
        )
    assert right == yours, f"indices of parents: yours {yours}, expected {right}; {why}"


def compare_times(calls: Sequence[Call], expected: dict[str, int], why: str) -> None:
    """Compare self times, and check that the list of calls is unchanged."""
    __tracebackhide__ = True
    before = list(calls)
    yours = self_times(calls)
    assert before == list(calls), "your code changed the list of calls"
    assert expected == yours, f"yours     {yours}\nexpected  {expected}\n{why}"


def test_the_picture() -> None:
    """Calls of two threads come in the order of a trace."""
    compare_parents(PICTURE, "the innermost call of the same thread around it")


def test_the_times_of_the_picture() -> None:
    """Self time is a call's time minus its children's."""
    expected = {"step": 40, "linear": 12, "t": 8, "addmm": 20, "relu": 20, "loader": 85}
    compare_times(PICTURE, expected, "grandchildren count once")


def test_a_name_that_calls_itself() -> None:
    """If a name calls itself, the self times of both calls are added."""
    calls = [Call("f", 1, 0, 10), Call("f", 1, 2, 6), Call("f", 1, 20, 25)]
    compare_times(calls, {"f": 15}, "10 + 5 for f")


def test_one_ends_where_the_next_begins() -> None:
    """Calls that touch are siblings, and have the same parent."""
    calls = [Call("all", 1, 0, 9), Call("a", 1, 0, 3), Call("b", 1, 3, 6), Call("c", 1, 6, 9)]
    compare_parents(calls, "who has ended is nobody's parent")
    compare_times(calls, {"all": 0, "a": 3, "b": 3, "c": 3}, "nothing is left of `all`: 0")


def test_two_begin_at_once() -> None:
    """The longer call is the parent, even if the file lists it last; of equal calls, the first."""
    calls = [Call("short", 1, 0, 3), Call("long", 1, 0, 9), Call("x", 1, 4, 6), Call("y", 1, 4, 6)]
    compare_parents(calls, "sort by the beginning, then the longer first")


def test_a_call_that_takes_no_time() -> None:
    """A call may take no time: it is a child of the call around it, not of one that ends there."""
    calls = [Call("all", 1, 0, 9), Call("a", 1, 0, 3), Call("none", 1, 3, 3), Call("b", 1, 3, 6)]
    compare_parents(calls, "`none` begins where `a` ends, and at once with `b`, which is longer")
    calls = [Call("a", 1, 0, 3), Call("none", 1, 3, 3), Call("same", 1, 3, 3)]
    compare_parents(calls, "each of them begins where the ones before it end")
    compare_times(calls, {"a": 3, "none": 0, "same": 0}, "no time is still a name")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_any_order(drawn: list[tuple[int, int, int]]) -> None:
    """Traces are not sorted, so the order of the file does not matter."""
    calls: list[Call] = []
    for thread, start, length in drawn:
        new = Call("f", thread, start, start + length)
        # Calls of one thread are either nested or separate.
        crossing = any(
            thread == c.thread
            and (new.start < c.start < new.end < c.end or c.start < new.start < c.end < new.end)
            for c in calls
        )
        if not crossing:
            calls.append(new)
    compare_parents(calls, "by the rules at `parents`")


@pytest.mark.parametrize("name", ["training", "memory"])
def test_files_of_the_profiler(traces: dict[str, Path], name: str) -> None:
    """The trace of a training step has nested ranges."""
    path = traces[name]
    calls = read_calls(path)
    right: Counter[str] = Counter()
    for call, parent in zip(calls, slow_parents(calls), strict=True):
        right[call.name] += call.end - call.start
        if parent is not None:
            right[calls[parent].name] -= call.end - call.start
    yours = self_times(calls)

    differ = {
        name: (yours.get(name), time) for name, time in right.items() if yours.get(name) != time
    }
    assert not differ, f"{path.name}, (yours, expected) in nanoseconds: {differ}"
    assert right.keys() == yours.keys(), "your names differ from those in the trace"


def test_the_table_of_the_profiler(tmp_path: Path) -> None:
    """The times computed from a fresh profile's file are those of its table."""
    layer = torch.nn.Linear(3, 4)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        for _ in range(3):
            with record_function("step"):
                layer(torch.ones(2, 3)).relu().sum().backward()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    yours = self_times(read_calls(tmp_path / "trace.json"))
    theirs = {row.key: row.self_cpu_time_total for row in prof.key_averages()}

    assert theirs.keys() == yours.keys(), "your names differ from those of key_averages()"
    for name, time in theirs.items():
        assert yours[name] / 1000 == pytest.approx(time, abs=0.1), (
            f"{name}: yours {yours[name] / 1000} us, in PyTorch's table {time:.3f}"
        )


class Compared(int):
    """A time that counts how often it is compared."""

    count = 0

    def __lt__(self, other: int) -> bool:
        """Compare, and count."""
        Compared.count += 1
        return int(self) < int(other)

    def __le__(self, other: int) -> bool:
        """Compare, and count."""
        Compared.count += 1
        return int(self) <= int(other)

    def __gt__(self, other: int) -> bool:
        """Compare, and count."""
        Compared.count += 1
        return int(self) > int(other)

    def __ge__(self, other: int) -> bool:
        """Compare, and count."""
        Compared.count += 1
        return int(self) >= int(other)


def test_a_long_trace() -> None:
    """Comparisons are counted: comparing each call with every other would take four million."""
    size = 2000
    calls = [Call("f", 1, Compared(10 * i), Compared(10 * i + 10)) for i in range(size)]
    calls.append(Call("all", 1, Compared(0), Compared(10 * size)))
    Compared.count = 0
    yours = parents(calls)
    count, bar = Compared.count, 60 * size

    assert {size, None} == set(yours), (
        "the parents are wrong: expected `all` as the parent of all other calls"
    )
    assert count <= bar, (
        f"{size} calls: your code compares times {count} times, expected at most {bar}"
    )


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the Python steps executed inside; code in C counts as one step."""
    count, before = [0], sys.gettrace()

    def step(frame: FrameType, event: str, arg: object) -> Any:
        frame.f_trace_opcodes = True
        count[0] += event == "opcode"
        return step

    sys.settrace(step)
    try:
        yield count
    finally:
        sys.settrace(before)


def test_a_trace_four_times_as_long() -> None:
    """A trace four times as long takes little more than four times as many steps, not sixteen."""
    counts: dict[str, list[int]] = {"parents": [], "self_times": []}
    for size in (50, 200):
        calls = [Call("f", 1, 10 * i, 10 * i + 10) for i in range(size)]
        calls.append(Call("all", 1, 0, 10 * size))
        for function in (parents, self_times):
            with counted() as count:
                function(calls)
            counts[function.__name__] += count
    for name, (short, long) in counts.items():
        assert long <= 6 * short, (
            f"{name}: {short} steps for 50 calls, {long} for 200, {long / short:.1f} times"
            " as many; expected at most 6 times, and comparing all pairs takes 16"
        )
