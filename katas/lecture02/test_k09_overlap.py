"""Tests of k09_overlap: PyTorch's refusals and a count of every element are the oracle."""

from __future__ import annotations

from itertools import product

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
    """Draw a window whose dims are laid out in any order, without gaps."""
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


def dense(
    sizes: tuple[int, ...], strides: tuple[int, ...], why: str, *, expected: bool = True
) -> None:
    """Compare the answer of is_dense with the definition."""
    yours = is_dense(Window(sizes, strides))

    assert expected is yours, (
        f"is_dense of sizes {sizes}, strides {strides}: yours {yours!r}, expected {expected}.\n"
        f"{why}"
    )


def inside(window: Window, expected: Overlap, why: str) -> None:
    """Compare the answer of internal_overlap with that of at::has_internal_overlap."""
    yours = internal_overlap(window)

    assert expected is yours, f"{window}: yours {yours}, PyTorch's {expected}.\n{why}"


def status(a: Window, b: Window, expected: Overlap, why: str) -> None:
    """Compare the answer of overlap_status, with the arguments in both orders."""
    for pair in ((a, b), (b, a)):
        yours = overlap_status(*pair)
        assert expected is yours, (
            f"{pair[0]} and {pair[1]}: yours {yours}, PyTorch's {expected}.\n{why}"
        )


def test_a_new_tensor_is_dense() -> None:
    """Its transpose is dense too: the order of the dims does not matter."""
    dense((2, 3), (3, 1), "Row-major: places 0 to 5.")
    dense((3, 2), (1, 3), "Its transpose: the same places in another order.")
    dense((2, 3, 4, 5), (60, 1, 15, 3), "Channels-last is dense, too.")
    dense((), (), "A scalar: one element, one place.")


def test_gaps_and_repeats_are_not_dense() -> None:
    """A sliced row, rows with padding, and an expanded row."""
    dense((3,), (2,), "Places 0, 2, 4: gaps.", expected=False)
    dense((2, 3), (4, 1), "Place 3 is a gap.", expected=False)
    dense((2, 3), (0, 1), "Each place is shown twice.", expected=False)
    dense((2, 2), (1, 1), "Place 1 is shown twice.", expected=False)
    dense(
        (2, 3), (5, 0), "The stretch is 6 long, as there are elements; 4 are gaps.", expected=False
    )
    why = "The stretch is 12 long, as there are elements; 2 is a gap, 4 is shown twice."
    dense((2, 2, 3), (1, 4, 3), why, expected=False)
    dense((2, 2, 2), (1, 3, 4), "Place 2 is a gap, place 4 is shown twice.", expected=False)


def test_dims_of_size_one_do_not_matter() -> None:
    """Whatever their stride, wherever it sorts."""
    dense((2, 1, 3), (3, 0, 1), "No index uses the 0.")
    dense((2, 1, 3), (3, 77, 1), "No index uses the 77.")
    dense((1,), (5,), "No index uses the 5.")


def test_an_empty_window_is_dense() -> None:
    """An empty window has no gaps and no repeats, whatever its strides."""
    dense((0,), (7,), "No elements, no gaps.")
    dense((0, 3), (9, 2), "No elements, no gaps.")
    dense((3, 0), (0, 0), "No elements, no repeats.")


@given(window=WINDOWS)
def test_dense_elements_fill_a_stretch(window: Window) -> None:
    """Sorted, the positions count up by one, from the offset."""
    assume(0 not in window.sizes)
    places = sorted(positions(window))
    expected = places == list(range(window.offset, window.offset + len(places)))
    dense(window.sizes, window.strides, f"Its places are {places}.", expected=expected)


def test_an_expanded_dim_overlaps() -> None:
    """Three indices share one element; a dim of size 1 with stride 0 repeats nothing."""
    inside(Window((3, 4), (0, 1)), Overlap.YES, "Three rows, all at the same places.")
    inside(Window((1, 4), (0, 1)), Overlap.NO, "One row is dense; its stride of 0 is not used.")
    inside(Window((3, 2), (1, 3)), Overlap.NO, "Dense, in any order of its dims.")
    inside(Window((3, 0), (0, 0)), Overlap.NO, "Without elements: dense.")


def test_what_is_not_certain_is_too_hard() -> None:
    """A sliding window does overlap and a padded row does not: no cheap test tells them apart."""
    inside(Window((3, 3), (1, 1)), Overlap.TOO_HARD, "Not dense, and no stride is 0.")
    inside(Window((2, 3), (4, 1)), Overlap.TOO_HARD, "Not dense, and no stride is 0.")
    inside(Window((1, 3), (0, 2)), Overlap.TOO_HARD, "Not dense, and no index uses the 0.")


@given(window=WINDOWS)
def test_internal_overlap_is_what_torch_says(window: Window) -> None:
    """For any window, even an empty one; a certain answer agrees with counting every element."""
    # Private, but the only way to call at::has_internal_overlap from Python.
    theirs = torch._debug_has_internal_overlap(  # noqa: SLF001
        tensor_of(window, torch.empty(60))
    )
    expected = next(each for each, number in AS_INT.items() if number == theirs)
    inside(window, expected, "See has_internal_overlap in MemoryOverlap.cpp.")
    places = positions(window)
    repeats = len(set(places)) < len(places)
    assert expected is not Overlap.YES or repeats, (
        f"{window}: your answer is YES, but no position repeats: {places}"
    )
    assert expected is not Overlap.NO or not repeats, (
        f"{window}: your answer is NO, but a position repeats: {places}"
    )


def test_the_same_window_overlaps_fully() -> None:
    """An in-place operator reads each element before it writes it."""
    window = Window((2, 3), (3, 1), 4)
    status(window, window, Overlap.FULL, "One stretch, equal strides.")


def test_neighbours_do_not_overlap() -> None:
    """The end of a range is the first element after it."""
    first, second = Window((4,), (1,), 0), Window((4,), (1,), 4)
    status(first, second, Overlap.NO, "Places 0 to 3, and 4 to 7.")


def test_shifted_windows_overlap_partially() -> None:
    """In x[:-1] and x[1:], an element is read at one index and written at another."""
    whole = Window((4,), (1,), 0)
    status(whole, Window((4,), (1,), 1), Overlap.PARTIAL, "Places 1 to 3 are in both.")
    status(whole, Window((4,), (1,), 3), Overlap.PARTIAL, "Place 3 is in both.")
    status(whole, Window((2,), (1,), 0), Overlap.PARTIAL, "Both start at 0, one is longer.")
    status(whole, Window((2,), (1,), 2), Overlap.PARTIAL, "Both end at 4, one is longer.")


def test_a_transpose_overlaps_partially() -> None:
    """The same range, but different elements at the same indices."""
    why = "The stretches are equal, the strides are not: [0, 1] is another place."
    status(Window((2, 2), (2, 1)), Window((2, 2), (1, 2)), Overlap.PARTIAL, why)


def test_no_elements_share_nothing() -> None:
    """Even in the middle of the other window, dense or not."""
    empty = Window((0,), (1,), 1)
    status(empty, Window((4,), (1,)), Overlap.NO, "No elements come first.")
    status(empty, Window((4,), (2,)), Overlap.NO, "No elements come first.")


def test_windows_with_gaps_are_too_hard() -> None:
    """Even and odd positions share nothing, but no cheap test can tell."""
    even, odd, row = Window((4,), (2,), 0), Window((4,), (2,), 1), Window((8,), (1,), 0)
    status(even, even, Overlap.TOO_HARD, "Not dense comes before the comparison.")
    status(even, odd, Overlap.TOO_HARD, "Not dense: nothing is compared.")
    status(even, row, Overlap.TOO_HARD, "One that is not dense is enough.")
    later = Window((4,), (1,), 4)
    status(even, later, Overlap.TOO_HARD, "Not dense: its 4 elements end at 6, not at 3.")


@given(pair=PAIRS)
def test_torch_refuses_to_write_where_the_overlap_is_partial(
    pair: tuple[Window, Window],
) -> None:
    """``torch.neg(b, out=a)`` raises exactly then, or where `a` overlaps itself."""
    a, b = pair
    storage = torch.arange(60.0)
    yours = overlap_status(a, b)
    expected = internal_overlap(a) is Overlap.YES or yours is Overlap.PARTIAL
    try:
        torch.neg(tensor_of(b, storage), out=tensor_of(a, storage))
    except RuntimeError as error:
        theirs = str(error)
    else:
        theirs = ""

    assert expected == ("unsupported operation" in theirs), (
        f"out={a}, input {b}: yours {yours}; PyTorch's {theirs or 'does not complain'}"
    )
    shared = set(positions(a)) & set(positions(b))
    assert yours is not Overlap.NO or not shared, f"{a}, {b}: yours NO, but both show {shared}"
    assert yours is not Overlap.PARTIAL or shared, f"{a}, {b}: yours PARTIAL, but nothing is shared"


def test_no_tensor_is_made_and_nothing_is_counted() -> None:
    """PyTorch checks before it touches memory, so 2**60 elements take no time."""
    with forbids(kata) as fresh:
        huge = fresh.Window((2**30, 2**30), (2**30, 1))
        padded = fresh.Window((2**30, 2**30), (2**31, 1))
        for window, expected in [
            (huge, (True, "NO", "FULL")),
            (padded, (False, *2 * ["TOO_HARD"])),
        ]:
            yours = (
                fresh.is_dense(window),
                fresh.internal_overlap(window).name,
                fresh.overlap_status(window, window).name,
            )
            assert expected == yours, (
                f"2**60 elements, {window}: yours {yours}, expected {expected}"
            )
