"""Tests of k02_schedule: your actions are compared with those of torch.profiler.schedule."""

from __future__ import annotations

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerAction
from torch.profiler import profile
from torch.profiler import schedule

from katas.lecture07 import k02_schedule as kata
from katas.lecture07.k02_schedule import action
from plugins.kit import forbids


# What PyTorch warns about schedules that the tests use.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Profiler won't be using warmup", "ignore:Warning. Profiler clears events"
)


def names(actions: list[ProfilerAction]) -> str:
    """Return actions as a line of words."""
    return " ".join(getattr(each, "name", repr(each)).lower() for each in actions)


def compare(steps: int, **options: int) -> None:
    """Compare the first steps of a schedule."""
    __tracebackhide__ = True
    theirs = schedule(**options)
    right = [theirs(step) for step in range(steps)]
    yours = [action(step, **options) for step in range(steps)]
    assert right == yours, (
        f"{options}, from step 0\nyours      {names(yours)}\nPyTorch's  {names(right)}"
    )


def test_the_first_cycle() -> None:
    """The first cycle is the one in the brief."""
    compare(5, wait=1, warmup=1, active=3)


def test_cycles_follow_one_another() -> None:
    """Without a limit, cycles repeat forever."""
    compare(12, wait=1, warmup=1, active=3)


@pytest.mark.parametrize("repeat", [1, 2])
def test_a_number_of_cycles(repeat: int) -> None:
    """After the last cycle nothing is recorded."""
    compare(15, wait=1, warmup=2, active=2, repeat=repeat)


@example(0, 0, 1, 0)
@example(0, 0, 1, 1)
@example(2, 0, 1, 2)
@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3), st.integers(0, 3))
def test_any_schedule(wait: int, warmup: int, active: int, repeat: int) -> None:
    """There may be no wait, no warmup, and a single active step."""
    compare(32, wait=wait, warmup=warmup, active=active, repeat=repeat)


def test_late_steps() -> None:
    """Without a limit, the cycles still repeat after a million steps."""
    theirs = schedule(wait=1, warmup=1, active=3)
    steps = range(1_000_000, 1_000_006)
    right, yours = [theirs(step) for step in steps], [action(step, 1, 1, 3) for step in steps]
    assert right == yours, (
        f"from step {steps[0]}\nyours      {names(yours)}\nPyTorch's  {names(right)}"
    )


def test_the_profiler_takes_yours() -> None:
    """The profiler asks for each step's action, and hands over a trace at each RECORD_AND_SAVE."""
    found = []
    for plan in (schedule(wait=1, warmup=1, active=2), lambda step: action(step, 1, 1, 2)):
        saved: list[int] = []
        with profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=plan,
            on_trace_ready=lambda prof, saved=saved: saved.append(prof.step_num),
        ) as prof:
            for _ in range(9):
                torch.ones(2)
                prof.step()
        found.append(saved)
    theirs, yours = found

    assert theirs == yours, f"traces handed over at steps: yours {yours}, PyTorch's {theirs}"


def test_it_is_worked_out() -> None:
    """Your answer does not use PyTorch's schedule, not even under another name."""
    with forbids(
        kata, "torch.profiler.schedule", "torch.autograd", "torch.profiler.profiler"
    ) as fresh:
        yours = fresh.action(7, 1, 1, 3)

    right = schedule(wait=1, warmup=1, active=3)(7)
    assert right == yours, f"step 7: yours {yours}, PyTorch's {right}"


def test_a_schedule_as_text() -> None:
    """Step by step: two cycles, and nothing after them."""
    steps = [action(step, wait=2, warmup=1, active=2, repeat=2) for step in range(13)]
    text = "\n".join(f"{step:2} {names([each])}" for step, each in enumerate(steps))

    assert_expected_inline(
        text,
        """\
 0 none
 1 none
 2 warmup
 3 record
 4 record_and_save
 5 none
 6 none
 7 warmup
 8 record
 9 record_and_save
10 none
11 none
12 none""",
    )
