"""Tests of k24_checkpoint: what is there after a save, and after one that was killed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture13.conftest import same
from katas.lecture13.k24_checkpoint import load
from katas.lecture13.k24_checkpoint import save
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """A load returns the last state saved, or None if nothing was saved."""
    path = tmp_path / "checkpoint"
    same(load(path), None, "what is loaded where nothing was saved")
    state = {"step": 2, "weight": torch.arange(3)}
    save(path, {"step": 1, "weight": torch.ones(3)})
    with unchanged(state=state):
        save(path, state)

    found = load(path)
    told = (found["step"], found["weight"].tolist())
    same(told, (2, [0, 1, 2]), "step and weight of the second state that was saved")


def test_a_broken_checkpoint_is_not_taken_for_none(tmp_path: Path) -> None:
    """Training would start over, and replace a file that could have been repaired."""
    path = tmp_path / "checkpoint"
    save(path, {"step": 1, "weight": torch.ones(1000)})
    same(load(path)["step"], 1, "the step that was saved")
    path.write_bytes(path.read_bytes()[:1000])

    # What torch.load raises.
    with pytest.raises(RuntimeError):
        load(path)


class Killed(BaseException):
    """Stands for the end of the process."""


class Deadly:
    """Ends a save in the middle."""

    def __reduce__(self) -> Any:
        """Refuse to be pickled."""
        raise Killed


def test_a_save_that_ends_in_the_middle_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    """The next save is not disturbed by what the killed one has left."""
    path = tmp_path / "checkpoint"
    save(path, {"step": 1})
    with pytest.raises(Killed):
        save(path, {"step": 2, "more": Deadly()})
    same(load(path), {"step": 1}, "what is there after a save that was ended in the middle")

    save(path, {"step": 3})
    same(load(path), {"step": 3}, "what is there after the next save")


def test_a_save_that_ends_at_the_last_moment_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is written but not moved: a first checkpoint does not exist then."""
    path = tmp_path / "checkpoint"

    def killed(*args: Any, **kwargs: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            save(path, {"step": 1})
    same(load(path), None, "what is there after a save that ended before it replaced anything")
    save(path, {"step": 2})
    same(load(path), {"step": 2}, "what is there after the next save")


def test_all_is_on_the_disk_before_the_old_checkpoint_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a power failure could leave an empty file under the final name."""
    path = tmp_path / "checkpoint"
    events: list[Any] = []
    replace, fsync = os.replace, os.fsync

    def noted_fsync(file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        events.append(("fsync", os.fstat(number).st_ino, os.fstat(number).st_size))
        fsync(number)

    def noted_replace(source: Any, target: Any, **kwargs: Any) -> None:
        events.append(("replace", os.stat(source).st_ino, os.stat(source).st_size))  # noqa: PTH116
        folder = os.path.dirname(source)  # noqa: PTH120
        assert os.fspath(tmp_path) == folder, (
            f"your code writes {source}, expected a file in {tmp_path}"
        )
        replace(source, target, **kwargs)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    save(path, {"weight": torch.ones(1000)})

    replaced = [event for event in events if event[0] == "replace"]
    assert 1 == len(replaced), f"os.replace must be called once, yours: {events}"
    before = events[: events.index(replaced[0])]
    synced = [event for event in before if event[:2] == ("fsync", replaced[0][1])]
    assert synced, f"no fsync of the new file before os.replace: {events}"
    assert replaced[0][1:] == synced[-1][1:], (
        f"the fsync before os.replace came before everything was written: {events}"
    )
