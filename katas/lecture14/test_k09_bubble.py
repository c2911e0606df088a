"""Tests of k09_bubble: PyTorch's schedules are simulated slot by slot."""

from __future__ import annotations

import pytest

from katas.lecture14 import conftest as pipes
from katas.lecture14 import k09_bubble as kata
from katas.lecture14.k09_bubble import PIPELINES
from plugins.kit import forbids


RULES = {
    "one": "three other ranks work while one of four waits, forward and backward",
    "gpipe": "it waits for the first micro-batch to come, and for the last one to go",
    "gpipe_longer": "more micro-batches are more work between the same waits",
    "1f1b": "the order in a rank changes; what the first and the last micro-batch pass does not",
    "interleaved": "a stage is half as long, so the first micro-batch arrives in half the time",
    "interleaved_wider": "more ranks to pass, each for a quarter of its layers",
}


def measure(name: str) -> int:
    """Simulate PyTorch's schedule and count a rank's idle slots."""
    schedule, ranks, chunks, count = PIPELINES[name]
    waits = pipes.idle(
        pipes.theirs(schedule, ranks, chunks, count), {"F": 4 // chunks, "B": 8 // chunks}
    )
    assert len(set(waits)) == 1, f"expected all ranks to wait equally long, not {waits}"
    return waits[0]


def predicted() -> dict[str, int]:
    """Return your numbers, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        found, again = dict(fresh.idle()), fresh.idle()
        assert found == again, "`idle` returns different numbers when called again"
        return found


@pytest.mark.given
def test_the_picture_of_the_brief() -> None:
    """Two ranks, two micro-batches: three idle slots for each."""
    orders = [[(kind, rank, number) for kind in "FB" for number in range(2)] for rank in range(2)]
    assert pipes.idle(orders, {"F": 1, "B": 2}) == [3, 3]


def test_every_pipeline_is_there() -> None:
    """One number for each pipeline and no others; your rows cannot call torch."""
    yours = set(predicted())
    assert yours == set(PIPELINES), (
        f"you return numbers for {sorted(yours)}, expected {sorted(PIPELINES)}"
    )


@pytest.mark.parametrize("name", PIPELINES)
def test_idle(name: str) -> None:
    """The idle slots of a rank, from PyTorch's order of actions."""
    yours = predicted()[name]
    assert type(yours) is int, f"{name}: you return a {type(yours).__name__}, expected an int"
    right = measure(name)
    assert yours == right, (
        f"{name}: {yours} idle slots are too {'many' if yours > right else 'few'} for "
        f"{PIPELINES[name]}; {RULES[name]}"
    )
