"""Tests of k05_archive: your reader must return what ``torch.load`` returns."""

from __future__ import annotations

import io
import os
import pickle
import warnings
import zipfile
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given

from katas.lecture02 import k05_archive as kata
from katas.lecture02.k05_archive import load
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


DTYPES = tuple(kata.DTYPES.values())
# Functions that read archives, or pass them on to one that does.
LOADS = (
    *("torch.load", "torch.serialization", "torch.jit.load", "torch.hub", "torch.package"),
    "torch.storage._load_from_bytes",
)


def saved(value: object) -> io.BytesIO:
    """Return an archive of this value."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def agree(x: torch.Tensor, why: str) -> torch.Tensor:
    """Save a tensor, load it with both readers, and compare; return yours."""
    theirs, yours = torch.load(saved(x)), load(saved(x))
    case = f"{x.dtype}, sizes {tuple(x.shape)}, strides {x.stride()}, offset {x.storage_offset()}"
    assert isinstance(yours, torch.Tensor), f"{case}: you load a {type(yours)}, expected a tensor"
    for name, fact in {
        "type": type,
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
        msg=lambda text: f"{case}: yours differs from PyTorch's.\n{why}\n{text}",
    )
    return yours


def test_a_row_comes_back() -> None:
    """Three numbers, stored as the bytes of data/0."""
    with unchanged():
        agree(torch.tensor([1.5, -2.0, 3.25]), "The bytes of data/0 are three float32.")


def test_each_dtype_has_its_bytes() -> None:
    """The id gives their dtype."""
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
        "saved as views of one storage, but you load two copies: a write to one must show in the "
        "other"
    )
    assert 0.0 == float(yours["other"][0, 2]), (
        "the third tensor must have a storage of its own (key '1')"
    )


def test_gradients_are_asked_for() -> None:
    """A leaf that requires a gradient still does after loading."""
    agree(torch.ones(2, requires_grad=True), "rebuild is told requires_grad.")
    agree(torch.ones(4)[1:].detach().requires_grad_(), "A leaf is a view of its storage, too.")
    x = torch.zeros(3)
    yours = load(saved({"leaf": x.detach().requires_grad_(), "plain": x}))
    asked = yours["leaf"].requires_grad, yours["plain"].requires_grad
    assert asked == (True, False), (
        f"two tensors on one storage, saved with requires_grad True and False: yours {asked}. "
        "Return two objects, even if both cover the whole storage"
    )


def test_no_bytes_are_a_storage_too() -> None:
    """An empty tensor has no bytes, and a scalar has one element."""
    agree(torch.empty(2, 0), "data/0 is empty; torch.frombuffer raises ValueError for no bytes.")
    agree(torch.tensor(7), "Sizes () and strides (): one element.")


def test_objects_keep_their_structure() -> None:
    """The unpickler itself restores lists, dicts and plain numbers."""
    layers = [torch.tensor([n, n + 0.5]) for n in range(12)]
    yours = load(saved({"step": 3, "layers": layers}))

    assert 3 == yours["step"], f"you load the step as {yours['step']}, expected 3"
    numbers = [x.tolist() for x in yours["layers"]]
    assert [x.tolist() for x in layers] == numbers, f"storages '0' to '11' are loaded as {numbers}"


def test_a_file_has_its_own_root(tmp_path: Path) -> None:
    """An archive saved as row.pt has ``row/`` as its root: ``row/data.pkl``."""
    file = tmp_path / "row.pt"
    torch.save(torch.arange(3), file)
    try:
        yours = load(str(file))
    except KeyError as error:
        raise AssertionError(f"your reader looks for a name outside self.root: {error}") from None

    assert [0, 1, 2] == yours.tolist(), f"yours {yours.tolist()}, expected [0, 1, 2]"


def test_a_storage_can_be_written() -> None:
    """Python bytes cannot: PyTorch warns if a tensor uses them as memory."""
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load(saved(torch.ones(3)))
    finally:
        torch.set_warn_always(False)
    says = [str(each.message) for each in caught if "writable" in str(each.message)]

    assert not says, (
        f"a write to your tensor would change a Python bytes object, which is immutable: {says}"
    )


@given(x=tensors(DTYPES))
def test_any_tensor_comes_back(x: torch.Tensor) -> None:
    """Permuted, expanded, offset, stepped; NaN and infinities bit for bit."""
    agree(x, "Dtype, sizes, strides, offset: rebuild has all of them.")


def test_two_archives_are_two_objects() -> None:
    """Keys count from 0 in each archive, so keep nothing from one archive to the next."""
    first = load(saved(torch.ones(3)))
    with unchanged(first=first):
        second = load(saved(torch.zeros(3)))
        second.add_(2)

    assert [2.0] * 3 == second.tolist(), f"yours {second.tolist()}, expected what was saved, plus 2"


def test_torch_load_is_not_asked() -> None:
    """The kata rewrites torch.load, so your code must not call it."""
    with forbids(kata, *LOADS) as fresh:
        yours = fresh.load(saved(torch.ones(2)))

    assert [1.0, 1.0] == yours.tolist(), f"yours {yours.tolist()}, expected [1.0, 1.0]"


@pytest.mark.given
def test_a_pickle_that_calls_something_else_is_refused() -> None:
    """Loading must not run code that somebody has put into the file."""

    class Evil:
        """Calls os.getcwd when it is unpickled."""

        def __reduce__(self) -> tuple[Any, tuple[()]]:
            """Make pickle call os.getcwd."""
            return os.getcwd, ()

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="is not for tensors"):
        load(file)
