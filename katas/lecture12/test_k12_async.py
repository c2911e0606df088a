"""Tests of k12_async: while a write is held up, changes must not reach it."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture12.k12_async import Saver
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


WHERE = "see async_save in torch/distributed/checkpoint/state_dict_saver.py"
# Longer than anything here takes; a wait of this length has failed.
LONG = 10.0


class Disk:
    """Writes with torch.save once `free` is set, which it is unless a test clears it."""

    def __init__(self) -> None:
        self.free, self.begun = threading.Event(), threading.Event()
        self.free.set()
        self.threads: list[int] = []
        self.given: list[dict[str, torch.Tensor]] = []
        self.ended = 0

    def write(self, state: dict[str, torch.Tensor], path: Path) -> None:
        """Write a state; raise an error if the folder is missing."""
        self.threads.append(threading.get_ident())
        self.given.append(dict(state))
        self.begun.set()
        self.free.wait(LONG)
        torch.save(state, path)
        self.ended += 1


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Return a disk that is released at the end, whatever happens."""
    made = Disk()
    yield made
    made.free.set()


def state_of(step: int) -> dict[str, torch.Tensor]:
    """Return the state of a step: irrational, special and whole values."""
    x = torch.arange(6, dtype=torch.float64).add(step + 0.5).sqrt().reshape(2, 3)
    x[0, 0], x[1, 1] = math.nan, -math.inf
    return {"x": x, "steps": torch.tensor(step), "mask": torch.tensor([True, step > 1])}


def check(path: Path, expected: dict[str, torch.Tensor], why: str) -> None:
    """Compare a file with a state."""
    __tracebackhide__ = True
    yours = torch.load(path)
    assert [*expected] == [*yours], f"your {path.name} holds {[*yours]}, expected {[*expected]}"
    for name, x in expected.items():
        torch.testing.assert_close(
            yours[name],
            x,
            rtol=0,
            atol=0,
            equal_nan=True,
            msg=lambda text, name=name, x=x: (  # type: ignore[misc]
                f"{path.name}, {name}: yours {yours[name].tolist()}, expected {x.tolist()}; {why}"
                f"\n{text}"
            ),
        )


def test_a_file(disk: Disk, tmp_path: Path) -> None:
    """After `wait` the file exists, and a second `wait` does nothing."""
    saver = Saver(disk.write)
    saver.wait()
    with unchanged(state=(state := state_of(1))):
        saver.save(state, tmp_path / "a.pt")
        saver.wait()
    assert disk.ended == 1, (
        f"after one save and wait(), your code wrote {disk.ended} files, expected 1"
    )
    check(tmp_path / "a.pt", state, "the values of the state")
    saver.wait()
    assert disk.ended == 1, f"after one save, your code wrote {disk.ended} files, expected 1"


def test_training_goes_on(disk: Disk, tmp_path: Path) -> None:
    """While the disk is slow, the next step writes to the tensors of the model."""
    saver, model = Saver(disk.write), nn.BatchNorm1d(2)
    expected = {name: x.clone() for name, x in model.state_dict().items()}
    disk.free.clear()
    # The thread has other work first, so anything it copies, it copies late.
    saver.pool.submit(disk.free.wait, LONG)
    saver.save(model.state_dict(), tmp_path / "a.pt")
    assert disk.ended == 0, (
        "save() returned only after the write had ended: training stops meanwhile"
    )
    with torch.no_grad():
        for x in model.state_dict().values():
            x.add_(7)
    disk.free.set()
    saver.wait()
    check(tmp_path / "a.pt", expected, "the state when save() was called: copy it first")
    assert threading.get_ident() not in disk.threads, "your code writes in the trainer's thread"


def test_the_next_save_waits(disk: Disk, tmp_path: Path) -> None:
    """The second save waits until the buffers have been read; each file has its own step."""
    saver = Saver(disk.write)
    disk.free.clear()
    saver.save(state_of(1), tmp_path / "a.pt")
    assert disk.begun.wait(LONG), "save() has returned, but no write has begun"
    threading.Timer(0.05, disk.free.set).start()
    saver.save(state_of(2), tmp_path / "b.pt")
    ended = disk.ended
    saver.wait()
    check(
        tmp_path / "a.pt",
        state_of(1),
        "the second save has written to what is being read",
    )
    check(tmp_path / "b.pt", state_of(2), "the second state")
    assert ended >= 1, "the second save() did not wait for the first write"


def test_buffers_are_made_at_the_first_save(disk: Disk, tmp_path: Path) -> None:
    """There is no room for another copy of ten gigabytes, and pinned memory is slow to allocate."""
    saver = Saver(disk.write)
    for step in range(1, 4):
        state = state_of(step)
        saver.save(state, tmp_path / f"{step}.pt")
        saver.wait()
        own = {x.data_ptr() for x in state.values()}
        shared = [name for name, x in disk.given[-1].items() if x.data_ptr() in own]
        assert not shared, (
            f"the tensors that your code passes to write share memory with the state: {shared}"
        )
    places = [{name: x.data_ptr() for name, x in given.items()} for given in disk.given]
    assert places == [places[0]] * 3, (
        f"three saves pass tensors at these addresses: {places}, expected one address per name"
    )
    # Averaged weights may have their own saver, with the same names.
    other = Saver(disk.write)
    other.save(state_of(4), tmp_path / "4.pt")
    other.wait()
    shared = [name for name, x in disk.given[-1].items() if x.data_ptr() == places[0][name]]
    assert not shared, f"two of your savers share the buffers of {shared}: one may still be writing"


def test_buffers_are_compact_and_plain(disk: Disk, tmp_path: Path) -> None:
    """Saving a view writes its whole storage, and a graph would be kept alive."""
    whole = torch.arange(100.0).sqrt()
    state = {
        "stepped": whole[::2],
        "transposed": whole[:6].reshape(2, 3).t(),
        "cut": whole[90:],
        "parameter": nn.Parameter(whole[:3].clone()),
        "result": nn.Parameter(whole[:2].clone()) * 2,
    }
    saver = Saver(disk.write)
    with unchanged(state=state):
        saver.save(state, tmp_path / "a.pt")
        saver.wait()
    for name, x in disk.given[0].items():
        size = x.untyped_storage().nbytes()
        bytes_ = x.numel() * x.element_size()
        assert size == bytes_, (
            f"{name} has {bytes_} bytes but a storage of {size}: your code saves a view"
        )
        assert not x.requires_grad, f"{name} requires a gradient when your code writes it"
    check(tmp_path / "a.pt", {name: x.detach() for name, x in state.items()}, "the values")


@pytest.mark.parametrize("how", ["wait", "save"])
def test_an_error_reaches_the_trainer(disk: Disk, tmp_path: Path, how: str) -> None:
    """At the next call, and only once; afterwards the saver still works."""
    saver = Saver(disk.write)
    disk.free.clear()
    saver.save(state_of(1), tmp_path / "no such folder" / "a.pt")
    # It fails while the trainer waits.
    threading.Timer(0.05, disk.free.set).start()
    said = None
    try:
        if how == "wait":
            saver.wait()
        else:
            saver.save(state_of(2), tmp_path / "b.pt")
    except RuntimeError as error:
        said = str(error)
    assert said is not None, f"the write has failed, but your {how}() raises nothing"
    assert "no such folder" in said, (
        f"your {how}() raises {said!r}, expected the error of the write"
    )
    saver.wait()
    kept = torch.equal(disk.given[0]["steps"], torch.tensor(1))
    assert kept, "your code copies before it raises the error of the previous save"
    assert len(disk.given) == 1, f"your code called write {len(disk.given)} times, expected 1"
    saver.save(state_of(3), tmp_path / "c.pt")
    saver.wait()
    check(tmp_path / "c.pt", state_of(3), "the save after the error")


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")
def test_pytorch_does_so(disk: Disk, tmp_path: Path) -> None:
    """async_save too writes the values at the call, though the tensors change afterwards."""
    # Importing these takes seconds.
    from torch.distributed.checkpoint.state_dict_loader import load  # noqa: PLC0415
    from torch.distributed.checkpoint.state_dict_saver import async_save  # noqa: PLC0415

    state = {"x": torch.arange(5.0).sqrt()}
    saver = Saver(disk.write)
    saver.save(state, tmp_path / "a.pt")
    future: Any = async_save(state, checkpoint_id=tmp_path / "theirs")
    state["x"].zero_()
    future.result()
    saver.wait()
    theirs = {"x": torch.empty(5)}
    load(theirs, checkpoint_id=tmp_path / "theirs")
    check(tmp_path / "a.pt", theirs, f"PyTorch's, which copies too; {WHERE}")
