"""Tests of k05_travel: processes are forked, and what they do to the memory is measured."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture06.k05_travel import Journey
from katas.lecture06.k05_travel import by_argument
from katas.lecture06.k05_travel import by_numpy
from katas.lecture06.k05_travel import by_queue
from katas.lecture06.k05_travel import journey
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


WHERE = "see reduce_storage in torch/multiprocessing/reductions.py"


def fresh(count: int, *, shared: bool = False, dims: int = 1) -> torch.Tensor:
    """Return numbers in private memory, or in shared memory; all dims but the last have size 1."""
    tensor = torch.arange(count, dtype=torch.float64).sqrt().view(*[1] * (dims - 1), count)
    return tensor.share_memory_() if shared else tensor


def measured(tensor: torch.Tensor, way: Callable[[torch.Tensor], Any]) -> Journey:
    """Return the journey of a new tensor, measured by the test itself."""
    pickled = way(tensor)
    reached = was_written(tensor)
    shared = tensor.is_shared()
    sent = len(ForkingPickler.dumps(pickled)) if pickled is not None else 0
    return Journey(sent, reached, shared)


def was_written(tensor: torch.Tensor) -> bool:
    """Return whether somebody has added 1 to the first number, which was 0."""
    return bool(tensor.flatten()[0] == 1.0)


def check(
    count: int,
    way: Callable[[torch.Tensor], Any],
    why: str,
    *,
    shared: bool = False,
    dims: int = 1,
) -> Journey:
    """Compare your journey with the one measured by the test."""
    tensor = fresh(count, shared=shared, dims=dims)
    yours = journey(tensor, way)
    found = measured(fresh(count, shared=shared, dims=dims), way)
    # The name of shared memory, or of a socket, may be a few characters longer or shorter.
    is_near = abs(yours.sent - found.sent) <= 40

    assert (found.reached, found.shared) == (yours.reached, yours.shared), (
        f"{way.__name__}, {count} numbers: yours {yours}, measured {found}\n{why}; {WHERE}"
    )
    assert is_near, f"{way.__name__}, {count} numbers: yours {yours}, measured {found}\n{why}"
    assert was_written(tensor) == yours.reached, (
        f"{way.__name__}: yours {yours}, but the tensor now begins with {tensor.flatten()[0]}: was"
        " it sent at all?"
    )
    return yours


def test_a_fork_inherits() -> None:
    """Nothing is pickled, and what the child writes stays in its own copy of the page."""
    check(4, by_argument, "a forked process has a copy, made when somebody writes")


def test_a_queue_moves_the_memory() -> None:
    """A name or a file descriptor is sent; from then on both processes share the memory."""
    check(4, by_queue, "pickling moves the tensor's storage into shared memory")


def test_an_array_travels_as_bytes() -> None:
    """The whole array is copied each time, and the sender never sees changes to the copy."""
    yours = check(10_000, by_numpy, "an array is pickled by value")
    assert yours.sent > 80_000, (
        f"10,000 float64 numbers are 80,000 bytes, but your `sent` is {yours.sent}"
    )


def test_a_larger_tensor_is_no_longer_message() -> None:
    """A thousand times as many numbers take about as many bytes."""
    small = check(10, by_queue, "what travels is a handle")
    large = check(10_000, by_queue, "what travels is a handle")
    assert abs(small.sent - large.sent) <= 40, (
        f"sent: yours {small.sent} bytes, then {large.sent} for a larger tensor; expected about the"
        " same"
    )
    check(10, by_queue, "sizes and strides travel too, those of 40 dims here", dims=40)


def test_memory_that_is_shared_already() -> None:
    """A forked process inherits shared memory and writes to it; an array is still sent by value."""
    check(6, by_argument, "shared memory stays shared in a fork: no copy on writing", shared=True)
    check(6, by_numpy, "the memory is shared, and the bytes were sent", shared=True)


def test_measuring_comes_last() -> None:
    """Sending by argument leaves the tensor as it was: private and unwritten."""
    tensor = fresh(5)
    with unchanged(tensor=tensor):
        yours = journey(tensor, by_argument)

    assert Journey(0, reached=False, shared=False) == yours, (
        f"yours {yours}, expected a private tensor: what moved it?"
    )
    assert not tensor.is_shared(), "your function moved the tensor into shared memory"


@pytest.mark.given
def test_a_view_moves_the_whole_storage() -> None:
    """A slice of ten moves all ten thousand numbers, so send a clone of a small slice."""
    whole = fresh(10_000)
    part = whole[:10]
    by_queue(part)

    assert whole.is_shared(), "expected the whole storage in shared memory, with all its views"
