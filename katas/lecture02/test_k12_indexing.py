"""Tests of k12_indexing: a storage that holds its own positions tells where it was read."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture02.k12_indexing import apply_basic
from katas.lecture02.k12_indexing import block_start
from katas.lecture02.k12_indexing import index
from katas.lecture02.k12_indexing import positions
from katas.lecture02.k12_indexing import spell_out


ALL = slice(None)
ROWS = torch.tensor([2, 0])
COLUMN = torch.tensor([[1], [0], [-1]])
CORNERS = torch.tensor([[True, False, False], [False, False, False], [False, False, True]])


@st.composite
def keys(draw: st.DrawFn) -> tuple[torch.Tensor, tuple[object, ...]]:
    """Draw a strided tensor and a key of any mixture for it."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(sizes))))
    block = draw(st.sampled_from([(2,), (3, 1), (0,), (2, 3)]))
    tensor = numbered(sizes, draw(st.integers(0, 4)), "cpu").permute(order)
    key: list[object] = []
    dots = draw(st.integers(0, len(sizes) + 1))
    for dim, size in enumerate(tensor.shape):
        if draw(st.integers(0, 4)) == 0:
            key.append(None)
        if dim == dots:
            key.append(...)
            continue
        kind = draw(st.sampled_from(["int", "slice", "tensor", "tensor", "whole"]))
        if kind == "int":
            key.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            key.append(slice(draw(st.integers(-size, size)), None, draw(st.integers(1, 2))))
        elif kind == "tensor":
            shape = block[draw(st.integers(0, len(block) - 1)) :]
            values = st.integers(-size, size - 1)
            count = torch.Size(shape).numel()
            drawn = [draw(values) for _ in range(count)]
            key.append(torch.tensor(drawn, dtype=torch.int64).reshape(shape))
        else:
            key.append(ALL)
    return tensor, tuple(key)


def numbered(sizes: list[int] | tuple[int, ...], offset: int, device: str) -> torch.Tensor:
    """Return a tensor with gaps between its rows, whose elements hold their own positions."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step = step * size + 1
    storage = torch.arange(step + offset + 5, device=device)
    return storage.as_strided(tuple(sizes), tuple(reversed(strides)), offset)


def test_a_short_key_is_filled_up_with_full_slices() -> None:
    """Behind its last entry; ``None`` covers no dim."""
    assert [0, ALL, ALL] == spell_out((0,), (2, 3, 4))
    assert [None, 0, None, ALL] == spell_out((None, 0, None), (2, 3))
    assert [] == spell_out((), ())


def test_dots_stand_for_the_missing_slices() -> None:
    """Where they stand, and for none at all if no dim is missing."""
    assert [ALL, ALL, 0] == spell_out((..., 0), (2, 3, 4))
    assert [1, ALL, None, 0] == spell_out((1, ..., None, 0), (2, 3, 4))
    assert [1, 0] == spell_out((1, ..., 0), (2, 3))


def test_an_index_tensor_covers_one_dim() -> None:
    """However many dims it has itself."""
    entries = spell_out((..., COLUMN, 0), (2, 3, 4))

    assert [ALL, 0] == [entries[0], entries[2]]
    assert entries[1] is COLUMN


def test_a_mask_becomes_the_places_where_it_is_true() -> None:
    """One int64 tensor for each dim that the mask has."""
    mask = torch.tensor([[True, False, True], [False, True, False]])
    entries = spell_out((ALL, mask), (4, 2, 3))

    assert 3 == len(entries), "a mask of 2 dims covers 2 dims"
    assert [ALL, [0, 0, 1], [0, 2, 1]] == [entries[0], *(entry.tolist() for entry in entries[1:])]
    assert {torch.int64} == {entry.dtype for entry in entries[1:]}
    assert [[0, 2], ALL] == [
        entry.tolist() if isinstance(entry, torch.Tensor) else entry
        for entry in spell_out((mask[0],), (3, 2))
    ]


def test_a_mask_leaves_its_dims_to_itself() -> None:
    """What stands behind it, dots included, goes on behind all its dims."""
    mask = torch.ones(2, 3, dtype=torch.bool)

    assert [None, ALL, 0] == spell_out((mask, None, ..., 0), (2, 3, 4, 5))[2:]
    assert 3 == len(spell_out((..., mask), (4, 2, 3)))
    assert 4 == len(spell_out((mask, mask[:, :2]), (2, 3, 2, 2)))


@pytest.mark.parametrize(
    "key", [(0, 0, 0), (0, ALL, COLUMN), (..., 0, ...), (torch.ones(2, 3, 1) > 0,)]
)
def test_too_many_entries_are_refused(key: tuple[object, ...]) -> None:
    """A tensor of two dims has no third one, and ``...`` can stand for missing dims once."""
    with pytest.raises(IndexError):
        spell_out(key, (2, 3))


@pytest.mark.parametrize("sizes", [(2, 4), (3, 3), (2, 1)])
def test_a_mask_has_the_sizes_of_its_dims(sizes: tuple[int, ...]) -> None:
    """No broadcasting here: a mask says yes or no to each element."""
    with pytest.raises(IndexError):
        spell_out((ALL, torch.ones(2, 3, dtype=torch.bool)), (5, *sizes))


def test_basic_entries_make_a_view() -> None:
    """Nothing is copied yet."""
    x = numbered((2, 3, 4), 1, "cpu")
    view, indices = apply_basic(x, [1, slice(1, None), slice(None, None, 2)])

    assert (2, 2) == tuple(view.shape)
    assert x.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
    assert x[1, 1:, ::2].tolist() == view.tolist()
    assert [None, None] == indices, "one entry for each dim of the view; the int's dim is gone"


def test_the_dims_of_index_tensors_stay_whole() -> None:
    """They are indexed later; the list says by what."""
    x = numbered((2, 3, 4, 5), 0, "cpu")
    view, indices = apply_basic(x, [ROWS, 1, None, COLUMN, slice(2)])

    assert x[:, 1, None, :, :2].shape == view.shape
    assert x[:, 1, None, :, :2].stride() == view.stride()
    assert 4 == len(indices)
    assert indices[0] is ROWS
    assert indices[2] is COLUMN
    assert indices[1] is indices[3] is None


def test_neighbouring_index_tensors_stay_in_place() -> None:
    """The dims before them stay before them."""
    assert 0 == block_start([ROWS, None])
    assert 2 == block_start([None, None, ROWS])
    assert 1 == block_start([None, ROWS, COLUMN, None])


def test_separated_index_tensors_come_to_the_front() -> None:
    """There is no one place between them to put their dims."""
    start = block_start([None, ROWS, None, COLUMN])

    assert 0 == start, f"the shape of x[:, i, :, j] starts with the block, you said dim {start}"
    assert 0 == block_start([None, ROWS, None, ROWS, ROWS])
    assert 0 == block_start([None, ROWS, ROWS, None, ROWS])


def test_one_index_tensor_names_positions(device: str) -> None:
    """In a (3, 4) tensor, rows 2 and 0 start at positions 8 and 0."""
    x = torch.arange(12, device=device).reshape(3, 4)
    found = positions(x, [ROWS.to(device), None])

    assert [[8, 9, 10, 11], [0, 1, 2, 3]] == found.tolist()
    assert torch.int64 == found.dtype
    assert [[2, 0], [6, 4], [10, 8]] == positions(x, [None, ROWS.to(device)]).tolist()


def test_index_tensors_are_broadcast_together() -> None:
    """(2,) and (3, 1) name a block of (3, 2) elements, not pairs of each."""
    x = numbered((3, 4), 3, "cpu")
    found = positions(x, [ROWS, COLUMN])

    assert (3, 2) == tuple(found.shape)
    assert x[ROWS, COLUMN].tolist() == found.tolist()


def test_positions_are_on_the_device_of_the_view(device: str) -> None:
    """Whatever the default device is: here it is one that holds no data."""
    x = torch.arange(12, device=device).reshape(3, 4)
    rows = ROWS.to(device)
    with torch.device("meta"):
        found = positions(x, [rows, None])

    assert x.device == found.device
    assert torch.equal(x[rows], found)


@pytest.mark.parametrize("end", [3, -4])
def test_an_index_outside_its_dim_is_refused(end: int) -> None:
    """Its position would be that of another element."""
    x = numbered((3, 4), 0, "cpu")

    assert x[-3].tolist() == positions(x, [torch.tensor([-3]), None])[0].tolist()
    with pytest.raises(IndexError):
        positions(x, [torch.tensor([0, end]), None])


@pytest.mark.parametrize(
    "key",
    [
        (ROWS,),
        (ALL, ROWS),
        (ROWS, ALL, COLUMN),
        (ALL, ROWS, ROWS, ALL),
        (0, ALL, ROWS),
        (ALL, COLUMN, 0, ROWS),
        (ROWS, None, COLUMN),
        (slice(1, None), ..., torch.tensor([True, False, True])),
        (CORNERS, ..., ROWS),
        (ALL, CORNERS, None, ROWS),
        (ROWS[:0], COLUMN),
    ],
)
def test_index_is_what_torch_does(device: str, key: tuple[object, ...]) -> None:
    """Value by value, on a tensor with gaps and an offset."""
    x = numbered((3, 3, 3, 3), 2, device)
    moved = tuple(entry.to(device) if isinstance(entry, torch.Tensor) else entry for entry in key)
    expected, result = x[moved], index(x, moved)

    assert expected.shape == result.shape, "where does the block of the index tensors stand?"
    assert torch.equal(expected, result)


def test_samples_of_pytorchs_own_tests() -> None:
    """The keys that PyTorch tests ``x[key]`` with; what is a list there is a tensor here."""
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415 - slow

    getitem = next(op for op in op_db if op.name == "__getitem__")
    for sample in getitem.sample_inputs("cpu", torch.float32):
        (key,) = sample.args
        # A list alone is one index; a tuple holds one entry for each dim.
        entries = key if isinstance(key, tuple) else (key,)
        tensors = tuple(torch.tensor(e) if isinstance(e, list) else e for e in entries)
        if not any(isinstance(entry, torch.Tensor) for entry in tensors):
            continue  # basic indexing, which is not what index is for
        expected, result = sample.input[key], index(sample.input, tensors)

        assert expected.shape == result.shape, f"x[{key}] of {tuple(sample.input.shape)}"
        assert torch.equal(expected, result), f"x[{key}] of {tuple(sample.input.shape)}"


@given(drawn=keys())
def test_any_mixture_is_what_torch_does(drawn: tuple[torch.Tensor, tuple[object, ...]]) -> None:
    """Permuted tensors with gaps; ints, steps, ``None``, dots and tensors anywhere."""
    tensor, key = drawn
    expected, result = tensor[key], index(tensor, key)

    assert expected.shape == result.shape, f"{key} on {tuple(tensor.shape)}"
    assert torch.equal(expected, result)


class Log(TorchDispatchMode):
    """Notes every operator of ATen that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Note the name and go on."""
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_one_gather_reads_the_elements() -> None:
    """The given ``take``; your part works with positions and never indexes by a tensor."""
    x = numbered((3, 3, 3), 2, "cpu")
    with Log() as log:
        index(x, (ROWS, ..., torch.tensor([True, False, True])))
    gathers = {"index", "index_select", "take", "gather", "masked_select", "embedding"}
    ran = [name for name in log.names if name in gathers]

    assert ["take"] == ran, "name the elements by strides: index arithmetic, then one take"
