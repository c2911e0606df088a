"""Tests of k01_bytes: what PyTorch reads at an index must be the bytes in its storage."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given

from katas.lecture02 import k01_bytes as kata
from katas.lecture02.k01_bytes import element
from plugins.kit import forbids
from plugins.kit import tensors


WORDS = torch.arange(6, dtype=torch.int16)
DTYPES = (torch.int16, torch.float64, torch.uint8, torch.complex64)
SEE = "See data_ptr_impl in torch/include/c10/core/TensorImpl.h."


def bytes_of(x: torch.Tensor) -> bytes:
    """Return the bytes of a storage."""
    return bytes(x.untyped_storage().tolist())


def agree(x: torch.Tensor, index: tuple[int, ...], why: str) -> None:
    """Compare the bytes found with those of PyTorch's element."""
    same(x, bytes_of(x), index, bytes_of(x[index].clone()), why)


def same(x: torch.Tensor, memory: bytes, index: tuple[int, ...], theirs: bytes, why: str) -> None:
    """Compare the bytes found in the memory of `x` with PyTorch's element."""
    sizes, offset = tuple(x.shape), x.storage_offset()
    yours = element(memory, x.element_size(), index, sizes, x.stride(), offset=offset)

    assert theirs == yours, (
        f"{x.dtype}, sizes {tuple(x.shape)}, strides {x.stride()}, offset {x.storage_offset()},"
        f" at {index}: yours {yours!r}, PyTorch's {theirs!r}.\n{why}"
    )


def test_elements_of_one_byte() -> None:
    """With one-byte elements, the index is the byte."""
    x = torch.tensor([7, 8, 9], dtype=torch.uint8)
    agree(x, (2,), "One byte each: the third byte.")


def test_strides_count_elements() -> None:
    """An int16 is two bytes, so element 5 begins at byte 10."""
    x = WORDS.view(2, 3)
    agree(x, (0, 1), "Places count elements; memory counts bytes.")
    agree(x, (1, 2), "One row is 3 elements, and 2 more: place 5, bytes 10 and 11.")


def test_a_transpose_reads_the_same_bytes() -> None:
    """The strides are swapped; the memory stays the same."""
    x = WORDS.view(2, 3)
    agree(x.t(), (2, 1), "x.t()[2, 1] is x[1, 2], in the same memory: the strides are (1, 3).")
    agree(x[:1].expand(2, 3), (1, 0), "Expanded rows: a stride of 0 stays where it is.")
    agree(x.t(), (0, 1), "x.t()[0, 1] is x[1, 0], three elements from the start.")


def test_a_slice_starts_at_its_offset() -> None:
    """The storage is still the whole storage of x."""
    agree(WORDS.view(2, 3)[:, 1:], (0, 0), f"The slice starts one element later. {SEE}")
    agree(WORDS[3:][::2], (1,), "Offset 3, and one step of stride 2.")


def test_a_negative_index_counts_from_the_end() -> None:
    """-1 is the last index of its dim."""
    x = WORDS.view(2, 3)
    agree(x, (-1, -1), "-1 is 1 in a dim of size 2, and 2 in a dim of size 3.")
    agree(x, (-2, -3), "Minus the size is the first index.")


@given(x=tensors(DTYPES))
def test_every_element_of_any_tensor(x: torch.Tensor) -> None:
    """Permuted, expanded, offset, stepped, and a scalar, which has one index: ()."""
    memory, width = bytes_of(x), x.element_size()
    rows = bytes_of(x.clone(memory_format=torch.contiguous_format))
    for place, index in enumerate(product(*map(range, x.shape))):
        theirs = rows[place * width :][:width]
        from_the_end = tuple(i - size for i, size in zip(index, x.shape, strict=True))
        for each in (index, from_the_end):
            same(x, memory, each, theirs, "Begin at the offset; each index moves by its stride.")


@pytest.mark.given
@pytest.mark.parametrize("index", [(2, 0), (0, 3), (-3, 0), (0, -4), (), (1,), (1, 0, 0)])
def test_an_index_outside_is_refused(index: tuple[int, ...]) -> None:
    """A wrong index would silently read a neighbour."""
    with pytest.raises(IndexError):
        element(bytes(12), 2, index, (2, 3), (3, 1))


def test_no_tensor_is_made() -> None:
    """PyTorch could read the element for you; arithmetic on ints is the kata."""
    x = torch.randint(-99, 99, (4, 6), dtype=torch.int16).t()
    memory, strides = bytes_of(x), x.stride()
    theirs = {(i, j): bytes_of(x[i, j].clone()) for i in range(6) for j in range(4)}
    with forbids(kata) as fresh:
        for index, expected in theirs.items():
            yours = fresh.element(memory, 2, index, (6, 4), strides)
            assert expected == yours, f"at {index}: yours {yours!r}, PyTorch's {expected!r}"
