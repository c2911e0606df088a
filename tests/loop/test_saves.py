"""The process that tells of saved files."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from plugins.saves import Reader
from plugins.saves import Saves
from tests.terminal import SECONDS
from tests.terminal import eventually
from tests.terminal import gone


ROOT = Path(__file__).parents[1]


def next_of(saves: Saves) -> list[Path] | None:
    """Return what is told next."""
    assert select.select([saves], [], [], SECONDS)[0]
    return saves.read()


@pytest.mark.parametrize("polling", ["", "1"], ids=["told", "polling"])
def test_saves_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, polling: str) -> None:
    """Once the folders are watched, which it says; new folders too, and not Python's own files."""
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", polling)
    saves = Saves([tmp_path])
    first = next_of(saves)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").touch()
    (tmp_path / "b.py").write_text("1")
    found = []
    while tmp_path / "b.py" not in found:
        found += next_of(saves) or []
    saves.stop()

    assert [] == first
    # Whoever polls sees that the folder has changed, too.
    assert {tmp_path / "b.py"} == {*found} - {tmp_path}


def test_it_says_why_it_ends(tmp_path: Path) -> None:
    """For example that there is no such folder."""
    saves = Saves([tmp_path / "none"])
    while next_of(saves) is not None:
        pass
    saves.stop()

    assert "No path was found." == saves.trouble


def test_it_ends_with_who_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However that ends, and though another process may hold the pipe."""
    code = f"""
import os, sys
from pathlib import Path
from plugins.saves import Saves
saves = Saves([Path({str(tmp_path)!r})])
saves.read()
print(saves.process.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    reader = Reader()
    alive = reader.is_set()
    monkeypatch.setattr("os.getppid", lambda: 1)

    assert not alive
    assert reader.is_set()
    assert eventually(lambda: gone(int(done.stdout)))


def test_a_fork_lets_go(tmp_path: Path) -> None:
    """It neither reads, nor warns that the process still runs when it ends."""
    saves = Saves([tmp_path])
    assert [] == next_of(saves)
    process = saves.process.pid
    saves.forget()

    assert 0 == saves.process.returncode
    os.kill(process, 15)
    os.waitpid(process, 0)
