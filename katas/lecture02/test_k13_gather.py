"""Tests of k13_gather: a storage whose elements are their own positions shows where it was read."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02 import k13_gather as kata
from katas.lecture02.k13_gather import block_start
from katas.lecture02.k13_gather import positions
from plugins.kit import forbids
from plugins.kit import unchanged


Indices = list[torch.Tensor | None]
ALL = slice(None)
ROWS = torch.tensor([2, 0])
COLUMN = torch.tensor([[1], [0], [-1]])
# Functions that read elements by a tensor of indices.
GATHERS = (
    "index",
    "index_select",
    "take",
    "gather",
    "masked_select",
    "embedding",
    "take_along_dim",
)


def numbered(sizes: list[int] | tuple[int, ...], offset: int, device: str) -> torch.Tensor:
    """Return a tensor with gaps between its rows, whose elements hold their own positions."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step = step * size + 1
    storage = torch.arange(step + offset + 5, device=device)
    return storage.as_strided(tuple(sizes), tuple(reversed(strides)), offset)


def text(indices: Indices) -> str:
    """Return index tensors as lists, and None as a colon."""
    return ", ".join(":" if entry is None else str(entry.tolist()) for entry in indices)


def starts(indices: Indices, expected: int, why: str) -> None:
    """Compare the dim at which the block starts."""
    yours = block_start(indices)

    assert expected == yours, f"x[{text(indices)}]: yours {yours}, expected {expected}.\n{why}"


def agree(view: torch.Tensor, indices: Indices) -> None:
    """Compare positions with what PyTorch reads from a storage of numbers."""
    case = f"x[{text(indices)}] of sizes {tuple(view.shape)}, strides {view.stride()}"
    theirs = view[tuple(ALL if entry is None else entry for entry in indices)]
    with unchanged(view=view, indices=indices):
        yours = positions(view, indices)

    assert theirs.shape == yours.shape, (
        f"{case}: your result has shape {tuple(yours.shape)}, PyTorch's {tuple(theirs.shape)}. "
        "Where does the block of the index tensors go?"
    )
    assert theirs.tolist() == yours.tolist(), (
        f"{case}, offset {view.storage_offset()}: yours {yours.tolist()}, PyTorch reads at "
        f"{theirs.tolist()}"
    )
    assert yours.dtype == torch.int64, f"{case}: you return {yours.dtype}, expected int64"


@st.composite
def indexed(draw: st.DrawFn) -> tuple[torch.Tensor, Indices]:
    """Draw a permuted tensor with gaps and an index tensor, or None, for each of its dims."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(sizes))))
    block = draw(st.sampled_from([(2,), (3, 1), (0,), (2, 3)]))
    view = numbered(sizes, draw(st.integers(0, 4)), "cpu").permute(order)
    chosen = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
    indices: Indices = [None] * len(sizes)
    for dim in sorted(chosen):
        shape = block[draw(st.integers(0, len(block) - 1)) :]
        size = view.shape[dim]
        count = torch.Size(shape).numel()
        drawn = [draw(st.integers(-size, size - 1)) for _ in range(count)]
        indices[dim] = torch.tensor(drawn, dtype=torch.int64).reshape(shape)
    return view, indices


def test_neighbouring_index_tensors_stay_in_place() -> None:
    """The dims before them stay in front."""
    starts([ROWS, None], 0, "The block takes the place of dim 0.")
    starts([None, None, ROWS], 2, "Two dims stay before it.")
    starts([None, ROWS, COLUMN, None], 1, "Two neighbours: the block takes their place.")


def test_separated_index_tensors_come_to_the_front() -> None:
    """No single place in between would fit them all."""
    starts([None, ROWS, None, COLUMN], 0, "Dim 2 lies between: print x[:, i, :, j].shape.")
    starts([None, ROWS, None, ROWS, ROWS], 0, "Dim 2 lies between.")
    starts([None, ROWS, ROWS, None, ROWS], 0, "Dim 3 lies between.")


def test_one_index_tensor_names_positions(device: str) -> None:
    """In a (3, 4) tensor, rows 2 and 0 start at positions 8 and 0."""
    x = torch.arange(12, device=device).reshape(3, 4)
    agree(x, [ROWS.to(device), None])
    agree(x, [None, ROWS.to(device)])


def test_index_tensors_are_broadcast_together() -> None:
    """(2,) and (3, 1) select a block of (3, 2) elements, not pairs; -1 is the last index."""
    agree(numbered((3, 4), 3, "cpu"), [ROWS, COLUMN])


@pytest.mark.parametrize(
    "indices",
    [
        [None, ROWS, None, None],
        [ROWS, None, COLUMN, None],
        [None, ROWS, ROWS, None],
        [None, COLUMN, None, ROWS],
        [ROWS[:0], COLUMN, None, None],
        [COLUMN, COLUMN, COLUMN, COLUMN],
        [None, ROWS, COLUMN, None],
        [None, COLUMN, ROWS, None],
    ],
)
def test_the_block_stands_where_torch_puts_it(device: str, indices: Indices) -> None:
    """Also on a tensor with gaps and an offset."""
    moved = [entry if entry is None else entry.to(device) for entry in indices]
    agree(numbered((3, 3, 3, 3), 2, device), moved)


@given(drawn=indexed())
def test_any_indices_name_what_torch_reads(drawn: tuple[torch.Tensor, Indices]) -> None:
    """Permuted tensors with gaps, index tensors of any shapes that broadcast."""
    agree(*drawn)


def test_positions_far_away_are_exact() -> None:
    """The storage has 16 MiB, and float32 has no odd numbers beyond 2**24."""
    x = torch.empty(2**24 + 9, dtype=torch.uint8)[2**24 + 1 :].reshape(2, 4)
    yours = positions(x, [ROWS - 1, None]).tolist()
    expected = [[2**24 + 1 + 4 * row + column for column in range(4)] for row in (1, 1)]

    assert expected == yours, (
        f"offset 2**24 + 1: yours {yours}, expected {expected}; count in int64"
    )


def test_positions_are_on_the_device_of_the_view(device: str) -> None:
    """Whatever the default device is: here it is meta, which holds no data."""
    x = torch.arange(12, device=device).reshape(3, 4)
    rows = ROWS.to(device)
    with torch.device("meta"):
        found = positions(x, [rows, None])

    assert x.device == found.device, (
        f"your result is on {found.device}, but the view is on {x.device}"
    )
    assert x[rows].tolist() == found.tolist(), f"yours {found.tolist()}, PyTorch's {x[rows]}"


@pytest.mark.given
@pytest.mark.parametrize("end", [3, -4])
def test_an_index_outside_its_dim_is_refused(end: int) -> None:
    """Such an index would give the position of another element."""
    with pytest.raises(IndexError):
        positions(numbered((3, 4), 0, "cpu"), [torch.tensor([0, end]), None])


def test_one_gather_reads_the_elements() -> None:
    """Only the given ``take`` reads; your part computes positions, without index tensors."""
    x = numbered((3, 3, 3), 2, "cpu")
    operators = [f"aten::{name}" for name in GATHERS]
    methods = ("torch.Tensor.index_select", "torch.Tensor.numpy")
    with forbids(kata, *methods, operators=operators) as fresh:
        found = fresh.positions(x, [ROWS, None, COLUMN])
    expected = x[ROWS, :, COLUMN]

    assert expected.tolist() == found.tolist(), f"yours {found.tolist()}, PyTorch's {expected}"
    result = kata.gather(x, [ROWS, None, COLUMN])
    assert expected.tolist() == result.tolist(), (
        f"gather returns {result} with your positions, PyTorch returns {expected}"
    )
