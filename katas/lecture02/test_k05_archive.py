"""Tests of k05_archive: what ``torch.save`` writes must come back as ``torch.load`` returns it."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from typing import Any

import pytest
import torch
from hypothesis import given

from katas.lecture02 import k05_archive as kata
from katas.lecture02.k05_archive import load
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


DTYPES = tuple(kata.DTYPES.values())


def saved(value: object) -> io.BytesIO:
    """Return an archive of this value."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def agree(x: torch.Tensor, why: str) -> torch.Tensor:
    """Save a tensor, load it by both, and compare; return yours."""
    theirs, yours = torch.load(saved(x)), load(saved(x))
    case = f"{x.dtype}, sizes {tuple(x.shape)}, strides {x.stride()}, offset {x.storage_offset()}"
    assert isinstance(yours, torch.Tensor), f"{case}: yours is a {type(yours)}, not a tensor"
    for name, fact in {
        "dtype": lambda t: t.dtype,
        "sizes": lambda t: tuple(t.shape),
        "strides": lambda t: t.stride(),
        "offset": lambda t: t.storage_offset(),
        "bytes of the storage": lambda t: t.untyped_storage().nbytes(),
        "requires_grad": lambda t: t.requires_grad,
        "is_leaf": lambda t: t.is_leaf,
    }.items():
        assert fact(theirs) == fact(yours), (
            f"{case}: {name} yours {fact(yours)}, PyTorch's {fact(theirs)}.\n{why}"
        )
    torch.testing.assert_close(
        yours.detach(),
        theirs.detach(),
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"{case}: yours is not PyTorch's.\n{why}\n{text}",
    )
    return yours


def test_a_row_comes_back() -> None:
    """Three numbers, whose bytes are data/0."""
    agree(torch.tensor([1.5, -2.0, 3.25]), "The bytes of data/0 are three float32.")


def test_each_dtype_has_its_bytes() -> None:
    """The id says which dtype they are."""
    for dtype in DTYPES:
        agree(torch.tensor([1, 0, 2]).to(dtype), "pid[1] is the dtype: find_class has made it one.")


def test_strides_and_offset_come_back() -> None:
    """A slice of a transpose, with the whole storage behind it."""
    x = torch.arange(12).view(3, 4)
    agree(x.t(), "Strides (1, 4): rebuild is given them.")
    agree(x[1:, 2:], "An offset, and the storage of all twelve: torch.save writes storages.")


def test_shared_storages_stay_shared() -> None:
    """Two tensors of one storage are two persistent ids with one key."""
    x = torch.zeros(2, 3)
    yours = load(saved({"a": x, "b": x.t(), "other": torch.zeros(2, 3)}))
    yours["a"][0, 2] = 5.0

    assert 5.0 == float(yours["b"][2, 0]), (
        "saved as views of one storage, yours are two copies: a write to one must show in the other"
    )
    assert 0.0 == float(yours["other"][0, 2]), "the third tensor has a storage of its own: key '1'"


def test_gradients_are_asked_for() -> None:
    """A leaf that requires a gradient is one again."""
    agree(torch.ones(2, requires_grad=True), "rebuild is told requires_grad.")


def test_no_bytes_are_a_storage_too() -> None:
    """And a scalar has one element."""
    agree(torch.empty(2, 0), "data/0 is empty; torch.frombuffer raises ValueError for no bytes.")
    agree(torch.tensor(7), "Sizes () and strides (): one element.")


def test_objects_keep_their_structure() -> None:
    """Lists, dicts and plain numbers are the pickle's own work."""
    value = {"step": 3, "layers": [torch.ones(1), torch.zeros(2)]}
    yours = load(saved(value))

    assert 3 == yours["step"], f"yours {yours['step']}, expected 3"
    assert [[1.0], [0.0, 0.0]] == [x.tolist() for x in yours["layers"]], f"yours {yours['layers']}"


@given(x=tensors(DTYPES))
def test_any_tensor_comes_back(x: torch.Tensor) -> None:
    """Permuted, expanded, offset, stepped; NaN and infinities to the bit."""
    agree(x, "Dtype, sizes, strides, offset: rebuild has all of them.")


def test_two_archives_are_two_objects() -> None:
    """Keys count from 0 in each archive, so nothing may be kept from one to the next."""
    first = load(saved(torch.ones(3)))
    with unchanged(first=first):
        second = load(saved(torch.zeros(3)))
        second.add_(2)

    assert [2.0] * 3 == second.tolist(), f"yours {second.tolist()}, expected what was saved, plus 2"


def test_torch_load_is_not_asked() -> None:
    """It is what is written here."""
    with forbids(kata, "torch.load", "torch.serialization", "torch.jit.load") as fresh:
        yours = fresh.load(saved(torch.ones(2)))

    assert [1.0, 1.0] == yours.tolist(), f"yours {yours.tolist()}, expected [1.0, 1.0]"


@pytest.mark.given
def test_a_pickle_that_calls_something_else_is_refused() -> None:
    """Loading must not run what somebody has put into the file."""

    class Evil:
        """Calls os.getcwd when it is unpickled."""

        def __reduce__(self) -> tuple[Any, tuple[()]]:
            """Ask for it."""
            return os.getcwd, ()

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="is not for tensors"):
        load(file)
