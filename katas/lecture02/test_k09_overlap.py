"""Tests of k09_overlap: what PyTorch refuses to write, and every element counted one by one."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k09_overlap as kata
from katas.lecture02.k09_overlap import Overlap
from katas.lecture02.k09_overlap import Window
from katas.lecture02.k09_overlap import internal_overlap
from katas.lecture02.k09_overlap import is_dense
from katas.lecture02.k09_overlap import overlap_status
from plugins.kit import forbids


# The values of at::MemOverlap, which torch._debug_has_internal_overlap returns.
AS_INT = {Overlap.NO: 0, Overlap.YES: 1, Overlap.TOO_HARD: 2}


def tensor_of(window: Window, storage: torch.Tensor) -> torch.Tensor:
    """Return the window on a storage."""
    return storage.as_strided(window.sizes, window.strides, window.offset)


def positions(window: Window) -> list[int]:
    """Return the position of every element, one by one."""
    return [
        window.offset + sum(i * s for i, s in zip(index, window.strides, strict=True))
        for index in product(*map(range, window.sizes))
    ]


@st.composite
def dense_windows(draw: st.DrawFn, sizes: tuple[int, ...] | None = None) -> Window:
    """Draw a window whose dims lie in the storage in any order, without gaps."""
    if sizes is None:
        sizes = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    order = draw(st.permutations(range(len(sizes))))
    strides, step = [0] * len(sizes), 1
    for dim in order:
        strides[dim], step = step, step * sizes[dim]
    return Window(sizes, tuple(strides), draw(st.integers(0, 6)))


@st.composite
def any_windows(draw: st.DrawFn, sizes: tuple[int, ...] | None = None) -> Window:
    """Draw a window with any strides."""
    if sizes is None:
        sizes = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    return Window(sizes, tuple(draw(st.integers(0, 5)) for _ in sizes), draw(st.integers(0, 6)))


WINDOWS = dense_windows() | any_windows()
PAIRS = st.lists(st.integers(1, 3), max_size=3).flatmap(
    lambda sizes: st.tuples(
        *[dense_windows(tuple(sizes)) | any_windows(tuple(sizes)) for _ in range(2)]
    )
)


def test_a_new_tensor_is_dense() -> None:
    """And so is its transpose: the order of the dims does not matter."""
    assert is_dense(Window((2, 3), (3, 1))) is True
    assert is_dense(Window((3, 2), (1, 3))) is True
    assert is_dense(Window((2, 3, 4, 5), (60, 1, 15, 3))) is True, "channels-last is dense"
    assert is_dense(Window((), ())) is True


def test_gaps_and_repeats_are_not_dense() -> None:
    """A sliced row, rows with padding, and an expanded row."""
    assert is_dense(Window((3,), (2,))) is False
    assert is_dense(Window((2, 3), (4, 1))) is False
    assert is_dense(Window((2, 3), (0, 1))) is False
    assert is_dense(Window((2, 2), (1, 1))) is False
    assert is_dense(Window((2, 3), (5, 0))) is False, "the stretch is 6 long, and 4 are gaps"


def test_dims_of_size_one_do_not_matter() -> None:
    """Whatever their stride, wherever it sorts."""
    assert is_dense(Window((2, 1, 3), (3, 0, 1))) is True
    assert is_dense(Window((2, 1, 3), (3, 77, 1))) is True
    assert is_dense(Window((1,), (5,))) is True


def test_an_empty_window_is_dense() -> None:
    """It has neither gap nor repeat, whatever its strides."""
    assert is_dense(Window((0,), (7,))) is True
    assert is_dense(Window((0, 3), (9, 2))) is True
    assert is_dense(Window((3, 0), (0, 0))) is True
    assert Overlap.NO is internal_overlap(Window((3, 0), (0, 0)))


@given(window=WINDOWS)
def test_dense_elements_fill_a_stretch(window: Window) -> None:
    """Sorted, the positions count up by one, from the offset."""
    assume(0 not in window.sizes)
    places = sorted(positions(window))
    expected = places == list(range(window.offset, window.offset + len(places)))

    assert expected == is_dense(window)


def test_an_expanded_dim_overlaps() -> None:
    """Three indices, one element; a dim of size 1 with stride 0 repeats nothing."""
    assert Overlap.YES is internal_overlap(Window((3, 4), (0, 1)))
    assert Overlap.NO is internal_overlap(Window((1, 4), (0, 1)))


def test_a_dense_window_does_not_overlap() -> None:
    """In any order of its dims."""
    assert Overlap.NO is internal_overlap(Window((3, 2), (1, 3)))


def test_what_is_not_certain_is_too_hard() -> None:
    """A sliding window does overlap and a padded row does not: no cheap test tells them apart."""
    assert Overlap.TOO_HARD is internal_overlap(Window((3, 3), (1, 1)))
    assert Overlap.TOO_HARD is internal_overlap(Window((2, 3), (4, 1)))


@given(window=WINDOWS)
def test_internal_overlap_is_what_torch_says(window: Window) -> None:
    """For any window, empty ones too."""
    # Private, but the one way to ask at::has_internal_overlap from Python.
    expected = torch._debug_has_internal_overlap(  # noqa: SLF001
        tensor_of(window, torch.empty(60))
    )

    assert expected == AS_INT[internal_overlap(window)]


@given(window=WINDOWS)
def test_a_certain_answer_is_true(window: Window) -> None:
    """Counted element by element."""
    assume(0 not in window.sizes)
    places = positions(window)
    answer = internal_overlap(window)

    assert answer is not Overlap.YES or len(set(places)) < len(places)
    assert answer is not Overlap.NO or len(set(places)) == len(places)


def test_the_same_window_overlaps_fully() -> None:
    """An in-place operator reads each element before it writes it."""
    window = Window((2, 3), (3, 1), 4)

    assert Overlap.FULL is overlap_status(window, window)


def test_neighbours_do_not_overlap() -> None:
    """The end of a stretch is the first element that is no longer in it."""
    first, second = Window((4,), (1,), 0), Window((4,), (1,), 4)

    assert Overlap.NO is overlap_status(first, second)
    assert Overlap.NO is overlap_status(second, first)


def test_shifted_windows_overlap_partially() -> None:
    """x[:-1] and x[1:]: each element is written at one index and read at another."""
    first, second = Window((4,), (1,), 0), Window((4,), (1,), 1)

    assert Overlap.PARTIAL is overlap_status(first, second)
    assert Overlap.PARTIAL is overlap_status(second, first)
    assert Overlap.PARTIAL is overlap_status(Window((4,), (1,), 0), Window((4,), (1,), 3))


def test_a_part_of_a_window_overlaps_partially() -> None:
    """Also where both start, or both end, at the same element."""
    whole = Window((4,), (1,), 0)

    assert Overlap.PARTIAL is overlap_status(whole, Window((2,), (1,), 0))
    assert Overlap.PARTIAL is overlap_status(Window((2,), (1,), 2), whole)


def test_a_transpose_overlaps_partially() -> None:
    """The same stretch, but other elements at the same indices."""
    assert Overlap.PARTIAL is overlap_status(Window((2, 2), (2, 1)), Window((2, 2), (1, 2)))


def test_no_elements_share_nothing() -> None:
    """Even in the middle of the other window, dense or not."""
    empty = Window((0,), (1,), 1)

    assert Overlap.NO is overlap_status(empty, Window((4,), (1,)))
    assert Overlap.NO is overlap_status(Window((4,), (2,)), empty)


def test_windows_with_gaps_are_too_hard() -> None:
    """Even numbers and odd numbers share nothing, but a cheap test would have to be clever."""
    even, odd, row = Window((4,), (2,), 0), Window((4,), (2,), 1), Window((8,), (1,), 0)

    assert Overlap.TOO_HARD is overlap_status(even, even), "not dense comes first"
    assert Overlap.TOO_HARD is overlap_status(even, odd)
    assert Overlap.TOO_HARD is overlap_status(even, row)
    assert Overlap.TOO_HARD is overlap_status(row, even)


@given(pair=PAIRS)
def test_torch_refuses_to_write_where_the_overlap_is_partial(
    pair: tuple[Window, Window],
) -> None:
    """``torch.neg(b, out=a)`` raises exactly then, or where `a` overlaps itself."""
    a, b = pair
    storage = torch.arange(60.0)
    self_overlap = internal_overlap(a) is Overlap.YES
    partial = overlap_status(a, b) is Overlap.PARTIAL

    if self_overlap or partial:
        with pytest.raises(RuntimeError, match="unsupported operation"):
            torch.neg(tensor_of(b, storage), out=tensor_of(a, storage))
    else:
        torch.neg(tensor_of(b, storage), out=tensor_of(a, storage))


@given(a=WINDOWS, b=WINDOWS)
def test_a_certain_status_is_true(a: Window, b: Window) -> None:
    """NO shares nothing, FULL shares everything in the same order, PARTIAL shares something."""
    status = overlap_status(a, b)
    shared = set(positions(a)) & set(positions(b))

    assert status is not Overlap.NO or not shared
    assert status is not Overlap.PARTIAL or shared
    assert status is not Overlap.FULL or positions(a) == positions(b)


def test_no_tensor_is_made() -> None:
    """PyTorch checks before it touches memory, and so do you."""
    with forbids(kata) as fresh:
        fresh.is_dense(fresh.Window((2, 3), (3, 1)))
        fresh.internal_overlap(fresh.Window((2, 3), (4, 1)))
        fresh.overlap_status(fresh.Window((2, 3), (3, 1)), fresh.Window((2, 3), (3, 1)))


def test_nothing_is_counted_one_by_one() -> None:
    """A window of 2**60 elements is judged at once: enumerating them would never end."""
    huge = Window((2**30, 2**30), (2**30, 1))

    assert is_dense(huge) is True
    assert Overlap.NO is internal_overlap(huge)
    assert Overlap.FULL is overlap_status(huge, huge)
