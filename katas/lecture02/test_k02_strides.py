"""Tests of k02_strides: PyTorch's own tensors are the oracle."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k02_strides as kata
from katas.lecture02.k02_strides import contiguous_strides
from katas.lecture02.k02_strides import is_contiguous
from katas.lecture02.k02_strides import offset_of
from katas.lecture02.k02_strides import storage_size
from plugins.kit import forbids


SIZES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Draw sizes, strides and a storage offset: any window at all, overlapping ones too."""
    sizes = draw(SIZES)
    strides = tuple(draw(st.integers(0, 6)) for _ in sizes)
    return sizes, strides, draw(st.integers(0, 5))


def numbered(
    sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, device: str
) -> torch.Tensor:
    """Return that window on a storage whose elements hold their own positions."""
    return torch.arange(200, device=device).as_strided(sizes, strides, offset)


def test_the_last_dim_has_stride_one() -> None:
    """One row of three elements: neighbours are one element apart."""
    strides = contiguous_strides((3,))

    assert (1,) == strides, f"a step along the only dim is one element, you gave {strides}"


def test_an_outer_dim_steps_over_the_inner_ones() -> None:
    """The next row of a (2, 3) tensor starts three elements later; a scalar has no strides."""
    assert (3, 1) == contiguous_strides((2, 3))
    assert (20, 5, 1) == contiguous_strides((3, 4, 5)), (
        "each stride is a product of sizes to its right"
    )
    assert () == contiguous_strides(())


def test_a_size_of_zero_counts_as_one_in_strides() -> None:
    """Otherwise every dim left of an empty one would have stride 0."""
    strides = contiguous_strides((2, 0, 3))

    assert (3, 3, 1) == strides, f"torch.empty(2, 0, 3).stride() is (3, 3, 1), you gave {strides}"


@given(sizes=SIZES)
def test_strides_are_those_of_a_new_tensor(device: str, sizes: tuple[int, ...]) -> None:
    """For any sizes, as ``torch.empty`` allocates them."""
    assert torch.empty(sizes, device=device).stride() == contiguous_strides(sizes)


def test_an_index_moves_by_its_stride() -> None:
    """In a (2, 3) tensor, (1, 2) is one row and two columns from the start."""
    position = offset_of((1, 2), (2, 3), (3, 1))

    assert 5 == position, f"1 * 3 + 2 * 1 = 5, you gave {position}"
    assert 0 == offset_of((), (), ()), "the only element of a scalar lies at the storage offset"


def test_positions_start_at_the_storage_offset() -> None:
    """A view into the middle of a storage starts where it starts."""
    assert 7 == offset_of((0, 0), (2, 3), (3, 1), 7)
    assert 12 == offset_of((1, 2), (2, 3), (3, 1), 7)


def test_a_negative_index_counts_from_the_end() -> None:
    """-1 is the last index of its dim; the result is a position, never negative."""
    assert 5 == offset_of((-1, -1), (2, 3), (3, 1))
    assert 0 == offset_of((-2, -3), (2, 3), (3, 1)), "-size is the first index"


@pytest.mark.parametrize("index", [(2, 0), (0, 3), (-3, 0), (0, -4)])
def test_an_index_outside_its_dim_is_refused(index: tuple[int, ...]) -> None:
    """A wrong position would silently read a neighbour."""
    with pytest.raises(IndexError):
        offset_of(index, (2, 3), (3, 1))


@pytest.mark.parametrize("index", [(), (1,), (1, 0, 0)])
def test_there_is_one_index_per_dim(index: tuple[int, ...]) -> None:
    """Too few would be a row, not an element."""
    with pytest.raises(IndexError):
        offset_of(index, (2, 3), (3, 1))


@given(window=windows())
def test_positions_are_those_that_torch_reads(
    device: str, window: tuple[tuple[int, ...], tuple[int, ...], int]
) -> None:
    """For every element of any window, transposed, expanded or overlapping."""
    sizes, strides, offset = window
    tensor = numbered(sizes, strides, offset, device)
    for index in product(*(range(-size, size) for size in sizes)):
        assert int(tensor[index]) == offset_of(index, sizes, strides, offset)


def test_a_row_major_tensor_is_contiguous() -> None:
    """And its transpose is not."""
    assert is_contiguous((2, 3), (3, 1)) is True
    assert is_contiguous((3, 2), (1, 3)) is False, "neighbours of a row are 3 elements apart"
    assert is_contiguous((), ()) is True, "one element follows nothing"


def test_gaps_and_repeats_are_not_contiguous() -> None:
    """Every second element, and one element expanded, have the wrong strides."""
    assert is_contiguous((4,), (2,)) is False
    assert is_contiguous((4,), (0,)) is False
    assert is_contiguous((2, 3), (4, 1)) is False, "a row of 3 that starts every 4 leaves a gap"


def test_the_stride_of_a_size_one_dim_does_not_matter() -> None:
    """It is never stepped through, wherever it stands."""
    assert is_contiguous((1, 3), (99, 1)) is True
    assert is_contiguous((3, 1), (1, 99)) is True
    assert is_contiguous((2, 1, 3), (3, 0, 1)) is True


def test_an_empty_tensor_is_contiguous() -> None:
    """No elements are out of order."""
    assert is_contiguous((0,), (5,)) is True
    assert is_contiguous((3, 0, 2), (1, 7, 9)) is True


@given(window=windows())
def test_contiguity_is_what_torch_says(
    device: str, window: tuple[tuple[int, ...], tuple[int, ...], int]
) -> None:
    """For any window."""
    sizes, strides, offset = window
    tensor = numbered(sizes, strides, offset, device)

    assert tensor.is_contiguous() == is_contiguous(sizes, strides)


def test_a_storage_reaches_to_the_last_element() -> None:
    """Six elements for a (2, 3) tensor; a step of 10 between two elements needs eleven."""
    assert 6 == storage_size((2, 3), (3, 1))
    assert 11 == storage_size((2,), (10,))
    assert 1 == storage_size((1000,), (0,)), "an expanded tensor needs one element"
    assert 1 == storage_size((), ())


def test_a_storage_holds_what_lies_before_the_offset() -> None:
    """The window starts inside it."""
    assert 13 == storage_size((2, 3), (3, 1), 7)


def test_no_elements_need_no_storage() -> None:
    """Not even one for the offset."""
    assert 0 == storage_size((3, 0), (1, 1), 7)


@given(window=windows())
def test_the_storage_size_is_the_least_that_torch_accepts(
    window: tuple[tuple[int, ...], tuple[int, ...], int],
) -> None:
    """A storage of that size serves, one element less is refused."""
    sizes, strides, offset = window
    least = storage_size(sizes, strides, offset)
    torch.empty(least).as_strided(sizes, strides, offset)
    if 0 in sizes:
        assert 0 == least
    else:
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            torch.empty(least - 1).as_strided(sizes, strides, offset)


def test_no_tensor_is_made() -> None:
    """The answer is arithmetic on ints: asking a tensor for it would skip the kata."""
    with forbids(kata) as fresh:
        fresh.contiguous_strides((2, 3))
        fresh.offset_of((1, 2), (2, 3), (3, 1))
        fresh.is_contiguous((2, 3), (3, 1))
        fresh.storage_size((2, 3), (3, 1))
