"""Tests of k04_storage: the error of ``as_strided`` reports the size that it needs."""

from __future__ import annotations

import re

import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k04_storage as kata
from katas.lecture02.k04_storage import storage_size
from plugins.kit import forbids


Shape = tuple[int, ...]


def least(sizes: Shape, strides: Shape, offset: int) -> int:
    """Return how many one-byte elements PyTorch requires of a storage."""
    try:
        torch.empty(0, dtype=torch.uint8).as_strided(sizes, strides, offset)
    except RuntimeError as error:
        found = re.search(r"requiring a storage size of (\d+)", str(error))
        if found:
            return int(found[1])
        raise
    return 0


def agree(sizes: Shape, strides: Shape, offset: int, why: str) -> None:
    """Compare the answer with the size that as_strided asks for."""
    theirs = least(sizes, strides, offset)
    yours = storage_size(sizes, strides, offset) if offset else storage_size(sizes, strides)

    assert theirs == yours, (
        f"sizes {sizes}, strides {strides}, offset {offset}: yours {yours}, PyTorch's {theirs}."
        f"\n{why}"
    )


def test_a_new_tensor_fills_its_storage() -> None:
    """As many elements as the product of its sizes."""
    agree((3,), (1,), 0, "Three neighbours: places 0, 1 and 2.")
    agree((2, 3), (3, 1), 0, "The last element is at place 1 * 3 + 2 * 1.")


def test_a_storage_reaches_to_the_last_element() -> None:
    """The steps between elements count, not only the elements."""
    agree((2,), (10,), 0, "A step of 10 between two elements: places 0 and 10.")
    agree((2, 3), (10, 2), 0, "The last element is at place 1 * 10 + 2 * 2.")


def test_an_expanded_tensor_needs_one_element() -> None:
    """A thousand indices share one element; a scalar has no dims but one element."""
    agree((1000,), (0,), 0, "Every index is at place 0.")
    agree((), (), 0, "No dims, one element.")


def test_a_storage_holds_what_lies_before_the_offset() -> None:
    """The tensor starts in the middle of the storage."""
    agree((2, 3), (3, 1), 7, "Seven elements lie before the first one.")


def test_no_elements_need_no_storage() -> None:
    """A tensor without elements needs no storage, not even for the offset."""
    agree((3, 0), (1, 1), 7, "No element, no place.")


@given(
    dims=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=4),
    offset=st.integers(0, 5),
)
def test_the_size_is_the_least_that_torch_accepts(dims: list[tuple[int, int]], offset: int) -> None:
    """For any sizes and strides."""
    sizes, strides = tuple(size for size, _ in dims), tuple(stride for _, stride in dims)
    agree(sizes, strides, offset, "The last index of every dim together reach furthest.")


def test_no_tensor_is_made() -> None:
    """The answer is arithmetic on ints."""
    drawn = [((n, m), (s, t), place) for n, m, s, t, place in torch.randint(1, 9, (8, 5)).tolist()]
    sizes = {arguments: least(*arguments) for arguments in drawn}
    with forbids(kata) as fresh:
        for arguments, theirs in sizes.items():
            yours = fresh.storage_size(*arguments)
            assert theirs == yours, f"{arguments}: yours {yours}, PyTorch's {theirs}"
