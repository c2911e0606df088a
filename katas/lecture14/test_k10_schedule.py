"""Tests of k10_schedule: PyTorch's interleaved schedule, its messages, and a simulation."""

from __future__ import annotations

import pytest
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture14 import conftest as pipes
from katas.lecture14 import k10_schedule as kata
from katas.lecture14.k10_schedule import needs
from katas.lecture14.k10_schedule import order
from katas.lecture14.k10_schedule import peak
from plugins.kit import forbids


# Ranks, stages on each, micro-batches.
SIZES = [(2, 1, 2), (2, 2, 2), (2, 2, 4), (4, 2, 8), (3, 3, 6), (4, 1, 8), (1, 2, 3), (4, 3, 4)]
SEES = "see schedules.py in torch/distributed/pipelining"


def told(actions: list[tuple[str, int, int]]) -> str:
    """Format actions as PyTorch prints them."""
    return " ".join(f"{stage}{kind}{number}" for kind, stage, number in actions)


def check_needs(
    action: tuple[str, int, int], stages: int, expected: list[tuple[str, int, int]]
) -> None:
    """Compare what an action waits for."""
    yours = list(needs(action, stages))
    assert yours == expected, (
        f"{told([action])} of {stages} stages waits for\nyours:    {told(yours)}\n"
        f"expected: {told(expected)}"
    )


def test_the_first_stage_waits_for_nothing() -> None:
    """Its input is the batch."""
    check_needs(("F", 0, 3), 4, [])


def test_a_forward_waits_for_the_stage_before() -> None:
    """The same micro-batch, one stage earlier."""
    check_needs(("F", 1, 3), 4, [("F", 0, 3)])
    check_needs(("F", 3, 0), 4, [("F", 2, 0)])


def test_a_backward_waits_for_two() -> None:
    """For its own saved forward and the next stage's gradient; the last stage has the loss."""
    check_needs(("B", 0, 2), 4, [("F", 0, 2), ("B", 1, 2)])
    check_needs(("B", 2, 2), 4, [("F", 2, 2), ("B", 3, 2)])
    check_needs(("B", 3, 2), 4, [("F", 3, 2)])
    check_needs(("B", 0, 0), 1, [("F", 0, 0)])


@pytest.mark.parametrize("size", [(2, 2, 4), (4, 2, 8)])
def test_what_comes_from_other_ranks_is_what_pytorch_receives(size: tuple[int, int, int]) -> None:
    """PyTorch adds a receive for each action that waits for another rank."""
    ranks, chunks, count = size
    stages = ranks * chunks
    theirs = pipes.received("Interleaved1F1B", ranks, chunks, count)
    for actions in pipes.theirs("Interleaved1F1B", ranks, chunks, count):
        for action in actions:
            yours = {each for each in needs(action, stages) if each[1] != action[1]}
            assert yours == theirs.get(action, set()), (
                f"{told([action])} of {stages} stages: in PyTorch this action receives "
                f"{told(sorted(theirs.get(action, set()))) or 'nothing'}, in your code it waits "
                f"for {told(sorted(yours)) or 'no other stage'}; {SEES}"
            )


def test_the_last_rank() -> None:
    """The last of two ranks, with two stages: its lead is one round of its first stage."""
    yours, expected = order(1, 2, 2, 2), pipes.theirs("Interleaved1F1B", 2, 2, 2)[1]
    assert yours == expected, f"yours:     {told(yours)}\nPyTorch's: {told(expected)}"


@pytest.mark.parametrize("size", SIZES)
def test_every_rank_runs_pytorchs_order(size: tuple[int, int, int]) -> None:
    """Forwards, alternation, backwards; computed, not looked up. One chunk may be plain 1F1B."""
    with forbids(kata, "torch.distributed.pipelining", "katas") as mine:
        orders = [mine.order(rank, *size) for rank in range(size[0])]
        plain = size[1] == 1 and orders == pipes.theirs("1F1B", *size)
        right = pipes.theirs("1F1B" if plain else "Interleaved1F1B", *size)
        for rank, (yours, expected) in enumerate(zip(orders, right, strict=True)):
            assert yours == expected, (
                f"rank {rank} of {size[0]}, {size[1]} stages on each, {size[2]} micro-batches\n"
                f"yours:     {told(yours)}\nPyTorch's: {told(expected)}\n{SEES}"
            )


@pytest.mark.parametrize("size", [(2, 2, 4), (4, 2, 8), (3, 3, 6)])
def test_your_ranks_never_wait_for_each_other_for_ever(size: tuple[int, int, int]) -> None:
    """Simulated with your `needs`, slot by slot, until the last backward."""
    ranks, chunks, count = size
    lists = [order(rank, *size) for rank in range(ranks)]
    done: set[tuple[str, int, int]] = set()
    places = [0] * ranks
    while len(done) < 2 * ranks * chunks * count:
        ready = [
            rank
            for rank, mine in enumerate(lists)
            if places[rank] < len(mine)
            and done.issuperset(needs(mine[places[rank]], ranks * chunks))
        ]
        assert ready, (
            f"a deadlock with {size}: your ranks stop at "
            f"{told([mine[at] for mine, at in zip(lists, places, strict=True) if at < len(mine)])}"
            "; expected each action once, and after everything it needs"
        )
        done |= {lists[rank][places[rank]] for rank in ready}
        for rank in ready:
            places[rank] += 1


def test_a_peak_is_reached_between() -> None:
    """The count goes down again, and a rank without actions stores nothing."""
    for kinds, right in (("FBFFBB", 2), ("FFBFFBBB", 3), ("FFBB", 2)):
        actions = [(kind, 0, kinds[:at].count(kind)) for at, kind in enumerate(kinds)]
        yours = peak(actions)
        assert yours == right, f"{told(actions)}: yours {yours}, expected {right}"
    # A micro-batch in two stages is stored in both.
    actions = [("F", 0, 0), ("F", 2, 0), ("B", 2, 0), ("B", 0, 0)]
    yours = peak(actions)
    assert yours == 2, f"{told(actions)}: yours {yours}, expected 2, one for each stage"
    assert peak([]) == 0, f"your peak of no actions is {peak([])}, expected 0"


@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 4))
def test_the_peak_of_any_rank(ranks: int, chunks: int, rounds: int, rank: int) -> None:
    """Micro-batches between forward and backward, counted at each action."""
    actions = order(rank % ranks, ranks, chunks, rounds * ranks)
    before = list(actions)
    yours, right = peak(actions), pipes.peak(actions)
    assert yours == right, f"{told(actions)}: yours {yours}, expected {right}"
    assert actions == before, "your code changes its argument"


def test_a_smaller_bubble_costs_memory() -> None:
    """Twice as many stages: half the idle slots of 1F1B, and more layers stored."""
    halves = [order(rank, 4, 2, 8) for rank in range(4)]
    whole = pipes.theirs("1F1B", 4, 1, 8)
    waits = max(pipes.idle(halves, {"F": 2, "B": 4})), max(pipes.idle(whole, {"F": 4, "B": 8}))
    assert 2 * waits[0] == waits[1], f"idle slots: yours {waits[0]}, expected half of {waits[1]}"
    stored, plain = peak(halves[0]) / 2, pipes.peak(whole[0])
    assert stored > plain, (
        f"your rank 0 stores the layers of {stored} micro-batches, rank 0 of 1F1B those of {plain};"
        " expected yours to store more, since it runs further ahead"
    )


def test_a_schedule_as_text() -> None:
    """Two ranks with two stages each, and four micro-batches."""
    text = "\n".join(told(list(order(rank, 2, 2, 4))) for rank in range(2))

    assert_expected_inline(
        text,
        """\
0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3""",
    )
