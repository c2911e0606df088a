"""Tests of k12_keys: PyTorch indexes your view by your list, and must get what the key gives."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture02.k12_keys import apply_basic
from katas.lecture02.k12_keys import spell_out
from plugins.kit import unchanged


ALL = slice(None)
ROWS = torch.tensor([2, 0])
COLUMN = torch.tensor([[1], [0], [-1]])
CORNERS = torch.tensor([[True, False, False], [False, False, False], [False, False, True]])


@st.composite
def keys(draw: st.DrawFn) -> tuple[torch.Tensor, tuple[object, ...]]:
    """Draw a strided tensor and a key for it, of any mixture of entries."""
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


def text(entries: object) -> str:
    """Return a key as text: tensors as lists, a full slice as a colon."""
    if isinstance(entries, torch.Tensor):
        return f"{str(entries.dtype).removeprefix('torch.')}{entries.tolist()}"
    if isinstance(entries, list | tuple):
        return f"[{', '.join(map(text, entries))}]"
    return ":" if entries == ALL else "..." if entries is ... else str(entries)


def spelled(
    key: tuple[object, ...], sizes: tuple[int, ...], expected: list[object], why: str
) -> None:
    """Compare the spelled out key with what is expected."""
    yours = spell_out(key, sizes)

    assert text(expected) == text(yours), (
        f"{text(key)} on sizes {sizes}: yours {text(yours)}, expected {text(expected)}.\n{why}"
    )


def agree(x: torch.Tensor, key: tuple[object, ...]) -> None:
    """Let PyTorch index your view by your list, and compare with the original key."""
    case = f"x{text(key)} of sizes {tuple(x.shape)}, strides {x.stride()}"
    with unchanged(x=x, key=list(key)):
        entries = spell_out(key, tuple(x.shape))
        view, indices = apply_basic(x, entries)
    assert view.dim() == len(indices), (
        f"{case}: your view has {view.dim()} dims, but your list has {len(indices)} entries"
    )
    yours = view[tuple(ALL if entry is None else entry for entry in indices)]
    theirs = x[key]
    assert theirs.shape == yours.shape, (
        f"{case}: yours {tuple(yours.shape)}, PyTorch's {tuple(theirs.shape)}; your key spelled "
        f"out is {text(entries)}, your view has strides {view.stride()}"
    )
    assert theirs.tolist() == yours.tolist(), (
        f"{case}: yours {yours.tolist()}, PyTorch's {theirs.tolist()}"
    )


def test_a_short_key_is_filled_up_with_full_slices() -> None:
    """After its last entry; ``None`` covers no dim."""
    spelled((0,), (2, 3, 4), [0, ALL, ALL], "x[0] is x[0, :, :].")
    spelled((None, 0, None), (2, 3), [None, 0, None, ALL], "None adds a dim and covers none.")
    spelled((), (), [], "A scalar has no dims to cover.")


def test_dots_stand_for_the_missing_slices() -> None:
    """Where the dots are, and for none at all if no dim is missing."""
    spelled((..., 0), (2, 3, 4), [ALL, ALL, 0], "Two dims are missing, at the dots.")
    spelled((1, ..., None, 0), (2, 3, 4), [1, ALL, None, 0], "One dim is missing.")
    spelled((1, ..., 0), (2, 3), [1, 0], "No dim is missing: the dots stand for nothing.")


def test_an_index_tensor_covers_one_dim() -> None:
    """However many dims the tensor has itself."""
    spelled((..., COLUMN, 0), (2, 3, 4), [ALL, COLUMN, 0], "A (3, 1) index covers one dim.")


def test_a_mask_becomes_the_places_where_it_is_true() -> None:
    """One int64 tensor for each dim that the mask has."""
    mask = torch.tensor([[True, False, True], [False, True, False]])
    rows, columns = torch.tensor([0, 0, 1]), torch.tensor([0, 2, 1])
    spelled((ALL, mask), (4, 2, 3), [ALL, rows, columns], "True at (0, 0), (0, 2) and (1, 1).")
    spelled((mask[0],), (3, 2), [torch.tensor([0, 2]), ALL], "True at 0 and 2.")


def test_a_mask_leaves_its_dims_to_itself() -> None:
    """Entries after it, dots included, apply to the dims after those of the mask."""
    mask = torch.ones(1, 2, dtype=torch.bool)
    zeros, ones = torch.tensor([0, 0]), torch.tensor([0, 1])
    why = "The mask covers two dims."
    spelled((mask, None, ..., 0), (1, 2, 4, 5), [zeros, ones, None, ALL, 0], why)
    spelled((..., mask), (4, 1, 2), [ALL, zeros, ones], why)
    spelled((mask, mask), (1, 2, 1, 2), [zeros, ones, zeros, ones], why)
    spelled((None, mask), (1, 2), [None, zeros, ones], "None covers no dim.")
    spelled((0, mask), (3, 1, 2), [0, zeros, ones], "An int covers a dim, though it takes it away.")
    spelled((COLUMN, mask), (3, 1, 2), [COLUMN, zeros, ones], "A (3, 1) index covers one dim.")


@pytest.mark.parametrize("sizes", [(2, 4), (3, 3), (2, 1)])
def test_a_mask_has_the_sizes_of_its_dims(sizes: tuple[int, ...]) -> None:
    """Masks are not broadcast: a mask says yes or no to each element."""
    key = (ALL, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(IndexError, match="a mask of"):
        pytest.fail(
            f"[:, mask] with a mask of (2, 3) on sizes {(5, *sizes)}: yours is "
            f"{text(spell_out(key, (5, *sizes)))}, expected the IndexError of check_mask"
        )


@pytest.mark.given
@pytest.mark.parametrize(
    "key", [(0, 0, 0), (0, ALL, COLUMN), (..., 0, ...), (torch.ones(2, 3, 1) > 0,)]
)
def test_too_many_entries_are_refused(key: tuple[object, ...]) -> None:
    """A tensor of two dims has no third dim, and ``...`` may occur only once."""
    with pytest.raises(IndexError):
        spell_out(key, (2, 3))


def test_basic_entries_make_a_view() -> None:
    """Nothing is copied yet."""
    x = numbered((2, 3, 4), 1, "cpu")
    entries: list[object] = [1, slice(1, None), slice(None, None, 2)]
    view, indices = apply_basic(x, entries)
    theirs = x[1, 1:, ::2]

    assert theirs.tolist() == view.tolist(), f"x[1, 1:, ::2]: yours {view}, PyTorch's {theirs}"
    assert x.untyped_storage().data_ptr() == view.untyped_storage().data_ptr(), (
        "your view is a copy"
    )
    assert [None, None] == indices, (
        f"your list is {indices}, expected two None: an int removes its dim"
    )
    assert 3 == len(entries), f"do not change the list that is passed in; it is now {entries}"


def test_the_dims_of_index_tensors_stay_whole() -> None:
    """These dims are indexed later, by the tensors in the list."""
    x = numbered((2, 3, 4, 5), 0, "cpu")
    view, indices = apply_basic(x, [ROWS, 1, None, COLUMN, slice(2)])
    theirs = x[:, 1, None, :, :2]
    facts = tuple(view.shape), view.stride()

    assert facts == (tuple(theirs.shape), theirs.stride()), (
        f"[rows, 1, None, column, :2]: yours {facts}, PyTorch's x[:, 1, None, :, :2] has "
        f"{(tuple(theirs.shape), theirs.stride())}"
    )
    expected = [ROWS, None, COLUMN, None]
    assert len(indices) == 4, f"your list has {len(indices)} entries, but the view has 4 dims"
    assert all(a is b for a, b in zip(expected, indices, strict=True)), (
        f"yours {text(indices)}, expected {text(expected)}: the same tensor objects as in the key"
    )


@pytest.mark.parametrize(
    "key",
    [
        (ROWS,),
        (ROWS, ALL, COLUMN),
        (0, ALL, ROWS),
        (ALL, COLUMN, 0, ROWS),
        (ROWS, None, COLUMN),
        (slice(1, None), ..., torch.tensor([True, False, True])),
        (CORNERS, ..., ROWS),
        (ALL, CORNERS, None, ROWS),
        (ROWS[:0], COLUMN),
    ],
)
def test_a_key_is_what_torch_makes_of_it(device: str, key: tuple[object, ...]) -> None:
    """Also on a tensor with gaps and an offset."""
    moved = tuple(entry.to(device) if isinstance(entry, torch.Tensor) else entry for entry in key)
    agree(numbered((3, 3, 3, 3), 2, device), moved)


def test_samples_of_pytorchs_own_tests() -> None:
    """The keys from PyTorch's own tests of ``x[key]``, with lists turned into tensors."""
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415 - slow

    getitem = next(op for op in op_db if op.name == "__getitem__")
    for sample in getitem.sample_inputs("cpu", torch.float32):
        (key,) = sample.args
        # A list alone is one index; a tuple has one entry for each dim.
        entries = key if isinstance(key, tuple) else (key,)
        tensors = tuple(torch.tensor(e) if isinstance(e, list) else e for e in entries)
        if any(isinstance(entry, torch.Tensor) for entry in tensors):
            agree(sample.input.detach(), tensors)


@given(drawn=keys())
def test_any_mixture_is_what_torch_makes_of_it(
    drawn: tuple[torch.Tensor, tuple[object, ...]],
) -> None:
    """Permuted tensors with gaps; ints, steps, ``None``, dots and tensors anywhere."""
    agree(*drawn)
