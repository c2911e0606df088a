"""Tests of k12_parallel_for: compared with at::parallel_for as compiled in libtorch_cpu.so."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

WHERE = "see ParallelOpenMP.h in torch/include/ATen"


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let PyTorch use this many threads, however many processors there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def lines(rows: torch.Tensor) -> str:
    """Return the calls as text."""
    calls = (f"f({begin}, {end}) in {number}" for begin, end, number in rows.tolist())
    return "  ".join(calls) or "no call"


def compare(extension: Extension, span: tuple[int, int], grain: int, count: int, why: str) -> None:
    """Compare the chunks, and at::get_thread_num() inside them."""
    __tracebackhide__ = True
    begin, end = span
    chunks = extension.op("chunks")
    with threads(count), unchanged():
        yours, used = chunks("yours", begin, end, grain)
        theirs, _ = chunks("PyTorch's", begin, end, grain)
    assert yours.equal(theirs), (
        f"{begin} to {end}, grain {grain}, {count} threads\nyours      {lines(yours)}\n"
        f"PyTorch's  {lines(theirs)}\n{why}; {WHERE}"
    )
    assert used == len(yours), (
        f"{len(yours)} chunks ran in {used} threads, expected one thread for each"
    )


def test_one_grain_is_one_call(extension: Extension) -> None:
    """A range of a single grain is one call."""
    compare(extension, (0, 4), 4, 4, "four elements are one grain")


def test_chunks_of_one_size(extension: Extension) -> None:
    """The chunks are those of the brief's picture."""
    for end, grain in ((10, 3), (10, 4), (9, 4)):
        compare(extension, (0, end), grain, 4, "how many chunks, and then of which size?")


def test_no_more_chunks_than_threads(extension: Extension) -> None:
    """A small grain gives no more chunks than threads."""
    for count in (2, 3):
        compare(extension, (0, 100), 1, count, "there are no more chunks than threads")


def test_the_last_thread_may_have_no_chunk(extension: Extension) -> None:
    """Rounding up leaves less for the last thread, or nothing."""
    compare(extension, (0, 10), 1, 6, "a chunk that would begin past the end is not called")


def test_a_range_that_begins_elsewhere(extension: Extension) -> None:
    """Chunks are counted from the beginning of the range."""
    for begin, end in ((5, 12), (-7, 3)):
        compare(extension, (begin, end), 2, 3, "the first chunk begins where the range does")


def test_no_elements(extension: Extension) -> None:
    """An empty range makes no call."""
    chunks = extension.op("chunks")
    with threads(3):
        for begin, end in ((0, 0), (5, 5), (5, 2)):
            yours, _ = chunks("yours", begin, end, 0)
            assert not len(yours), (
                f"{begin} to {end}: your calls are {lines(yours)}, expected no call; {WHERE}"
            )


@given(
    begin=st.integers(-5, 5),
    n=st.integers(0, 40),
    grain=st.integers(0, 12),
    count=st.integers(1, 5),
)
@example(begin=0, n=1, grain=0, count=4)
@example(begin=0, n=40, grain=0, count=4)
@example(begin=3, n=12, grain=12, count=2)
@example(begin=3, n=13, grain=12, count=2)
def test_any_range(extension: Extension, begin: int, n: int, grain: int, count: int) -> None:
    """Any grain and any number of threads give PyTorch's chunks."""
    compare(extension, (begin, begin + n), grain, count, "a grain of 0 sets no limit")


@pytest.mark.parametrize(
    ("outer", "grain", "why"),
    [
        (4, 1, "a chunk has its thread already: a loop within it is one call"),
        (1, 0, "one element is one call, and that is no chunk: the loop within it is shared"),
        (4, 4, "one grain is one call, and that is no chunk: the loop within it is shared"),
    ],
    ids=["chunks", "element", "grain"],
)
def test_a_loop_within_a_loop(extension: Extension, outer: int, grain: int, why: str) -> None:
    """A loop inside a chunk is one call; inside a single call it is shared."""
    nested = extension.op("nested")
    with threads(3):
        yours = nested("yours", outer, grain, 7, 1)
        theirs = nested("PyTorch's", outer, grain, 7, 1)
    columns = "begin of the outer chunk; begin, end, thread number of the inner; outer number after"
    assert yours.equal(theirs), (
        f"7 elements within {outer}, 3 threads ({columns})\nyours      {yours.tolist()}\n"
        f"PyTorch's  {theirs.tolist()}\n{why}"
    )


@pytest.mark.parametrize("places", [[3], [0], [6, 3], [0, 3, 6]], ids=str)
def test_an_exception_reaches_the_caller(extension: Extension, places: list[int]) -> None:
    """The exception can come from any thread, and arrives after the other chunks have run."""
    throwing = extension.op("throwing")
    with threads(3):
        with pytest.raises((IndexError, RuntimeError)) as thrown:
            throwing("yours", 9, 3, places)
        text = str(thrown.value).partition("\n")[0]
        if text.startswith("TODO"):
            raise NotImplementedError(text)
        ran = extension.op("ran")()
        with pytest.raises(IndexError, match=r"^chunk at"):
            throwing("PyTorch's", 9, 3, places)
        theirs = extension.op("ran")()
    assert text == f"chunk at {min(places)}", (
        f"exceptions in the chunks at {places}: yours is {text!r}, expected the exception of"
        " the lowest chunk"
    )
    assert thrown.type is IndexError, (
        f"yours is a {thrown.type.__name__}, expected the IndexError that the chunk threw:"
        " std::exception_ptr keeps it, whatever its type"
    )
    assert ran == theirs, (
        f"exceptions in the chunks at {places}: {ran} elements of other chunks had run when your"
        f" call returned, {theirs} with PyTorch's; a chunk that still runs would use memory that"
        " the caller has freed"
    )


def test_an_exception_stops_nobody(extension: Extension) -> None:
    """Chunks after the one that throws run as well."""
    throwing, ran = extension.op("throwing"), extension.op("ran")
    with threads(40), pytest.raises(IndexError, match=r"^chunk at 1"):
        throwing("yours", 40, 1, [1])
    assert ran() == 39, (
        f"an exception in the second of 40 chunks: {ran()} others ran, expected all 39, as"
        " in PyTorch: each element is either done, or in the chunk that threw"
    )


def test_an_exception_of_the_only_call(extension: Extension) -> None:
    """The exception of a single call simply passes through."""
    with threads(3), pytest.raises(IndexError, match=r"^chunk at 0"):
        extension.op("throwing")("yours", 2, 3, [0])


def test_a_second_loop_is_shared_too(extension: Extension) -> None:
    """A chunk resets the state it set, even after an exception."""
    throwing, number = extension.op("throwing"), extension.op("chunks")
    with threads(3):
        with pytest.raises(IndexError, match=r"^chunk at 0"):
            throwing("yours", 9, 1, [0])
        for again in range(2):
            yours, _ = number("yours", 0, 9, 1)
            assert len(yours) == 3, (
                f"after an exception, loop {again + 1}: your calls are {lines(yours)}, expected"
                " three chunks; is the thread still marked as inside?"
            )


@pytest.mark.given
def test_without_openmp_the_header_is_one_call(extension: Extension) -> None:
    """Compare at::parallel_for compiled here with the one in libtorch_cpu.so."""
    chunks = extension.op("chunks")
    with threads(4):
        (header, _), (theirs, _) = chunks("header", 0, 100, 1), chunks("PyTorch's", 0, 100, 1)
    assert (len(header), len(theirs)) == (1, 4), (
        f"calls of f: {len(header)} with the header, {len(theirs)} in libtorch_cpu.so"
    )
