"""Tests of k09_order: all orders are tried, and the clock is that of two streams."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture07.conftest import Gpu
from katas.lecture07.k09_order import Batch
from katas.lecture07.k09_order import best_order
from katas.lecture07.k09_order import finish


def check(batches: list[Batch]) -> None:
    """Compare your order with the best of all orders."""
    __tracebackhide__ = True
    yours = best_order(batches)
    indices = range(len(batches))
    assert sorted(yours) == list(indices), f"yours {yours} is not an ordering of {list(indices)}"
    best = min(finish(batches, order) for order in permutations(indices))
    time = finish(batches, yours)
    assert time == best, (
        f"{batches}\nyour order {yours} ends at {time}, the best order at {best}, the given order"
        f" at {finish(batches, indices)}. Which copy can no kernel hide, and which kernel can no"
        " copy hide?"
    )


def test_the_picture() -> None:
    """No kernel hides the first copy."""
    check([Batch(7, 3), Batch(3, 6)])


def test_nothing_hides_the_last_kernel() -> None:
    """All copies take longer than their kernels."""
    check([Batch(8, 1), Batch(9, 7), Batch(8, 4)])


@example([Batch(1, 1), Batch(1, 5), Batch(5, 1)])
@example([Batch(4, 9), Batch(5, 5), Batch(2, 3), Batch(9, 8)])
@example([])
@given(st.lists(st.builds(Batch, st.integers(0, 9), st.integers(0, 9)), max_size=5))
def test_any_batches(batches: list[Batch]) -> None:
    """There may be no batches, and times may be 0."""
    before = list(batches)
    check(batches)
    assert before == batches, "your code changed the list of batches"


def test_a_thousand_batches() -> None:
    """With too many batches to try, a kernel hides every copy but the first."""
    batches = [Batch(i + 1, i) for i in range(1, 501)] + [
        Batch(i, i + 1) for i in range(500, 0, -1)
    ]
    time = finish(batches, best_order(batches))
    bound = 1 + sum(kernel for _, kernel in batches)
    assert time == bound, (
        f"your order ends at {time}, expected {bound}: after the first and shortest copy,"
        " no kernel has to wait"
    )


@pytest.mark.given
@given(st.permutations(range(4)), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_the_clock_is_that_of_two_streams(order: list[int], times: list[int]) -> None:
    """A kernel waits for its copy's event; the host launches everything, and waits at the end."""
    batches = [Batch(*pair) for pair in zip(times[::2], times[1::2], strict=True)]
    gpu = Gpu()
    copies, kernels = gpu.stream(), gpu.stream()
    for i in order:
        copies.launch("copy", batches[i].copy)
        kernels.wait_event(copies.record_event())
        kernels.launch("kernel", batches[i].kernel)
    kernels.synchronize()

    assert gpu.now == finish(batches, order), (
        f"{batches}, {order}: two streams end at {gpu.now}, unlike `finish`"
    )
