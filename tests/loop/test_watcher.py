"""The helper process that reports file changes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.loop.watcher import ParentEnded
from plugins.loop.watcher import Saves
from tests.support.terminal import SECONDS
from tests.support.terminal import eventually
from tests.support.terminal import gone


if TYPE_CHECKING:
    from pathlib import Path


def next_report(saves: Saves) -> list[Path] | None:
    """Return the next report."""
    assert select.select([saves], [], [], SECONDS)[0]
    return saves.read()


@pytest.mark.parametrize("polling", ["", "1"], ids=["events", "polling"])
def test_saves_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, polling: str) -> None:
    """Once it has reported that it watches; in new folders too, and without Python's own files."""
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", polling)
    saves = Saves([tmp_path])
    first = next_report(saves)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").touch()
    (tmp_path / "b.py").write_text("1")
    found = []
    while tmp_path / "b.py" not in found:
        found += next_report(saves) or []
    saves.stop()

    assert [] == first
    # Polling reports that the folder has changed, too.
    assert {tmp_path / "b.py"} == {*found} - {tmp_path}


def test_saves_in_subfolders_are_reported(tmp_path: Path) -> None:
    """The modules of plugins/ lie in wings, and exercises in lectures."""
    (tmp_path / "wing/deep").mkdir(parents=True)
    saves = Saves([tmp_path])
    assert [] == next_report(saves)
    (tmp_path / "wing/deep/module.py").write_text("1")
    found: list[Path] = []
    while not found:
        found += next_report(saves) or []
    saves.stop()

    assert tmp_path / "wing/deep/module.py" in found


def test_it_says_why_it_ends(tmp_path: Path) -> None:
    """For example that there is no such folder."""
    saves = Saves([tmp_path / "none"])
    while next_report(saves) is not None:
        pass
    saves.stop()

    assert "No path was found." == saves.trouble


def test_it_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However its parent ends, and though another process may hold the pipe."""
    code = f"""
import os, sys
from pathlib import Path
from plugins.loop.watcher import Saves
saves = Saves([Path({str(tmp_path)!r})])
saves.read()
print(saves.process.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    parent = ParentEnded()
    alive = parent.is_set()
    monkeypatch.setattr("os.getppid", lambda: 1)

    assert not alive
    assert parent.is_set()
    assert eventually(lambda: gone(int(done.stdout)))


def test_a_fork_releases_the_process(tmp_path: Path) -> None:
    """The fork neither reads, nor warns at its end that the process still runs."""
    saves = Saves([tmp_path])
    assert [] == next_report(saves)
    process = saves.process.pid
    saves.forget()

    assert 0 == saves.process.returncode
    os.kill(process, 15)
    os.waitpid(process, 0)
