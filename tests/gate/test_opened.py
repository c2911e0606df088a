"""Which files a run opens: by Python, in forks, on command lines; the engine's own are left out."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.gate.opened import ENGINE
from tests.gate.opened import read_opened
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from pathlib import Path


CODE = """
import os, pathlib, shutil, subprocess, sys
from tests.gate.opened import watch

root, journal = map(pathlib.Path, sys.argv[1:])
os.chdir(root)
watch(str(root), journal)
open("a.txt").close()
open(b"a.txt").close()
(root / "b.txt").read_text()
subprocess.run(["cat", pathlib.Path("c.txt"), "absent.txt"], stderr=-3)
subprocess.run("true", shell=True)
if not os.fork():
    open("folder/d.txt").close()
    os._exit(0)
os.wait()
shutil.rmtree("gone")
open("new.txt", "w").close()
open(os.devnull).close()
"""


def test_what_a_process_opens(tmp_path: Path) -> None:
    """Once each, relative to the repository; neither what lies outside nor what is deleted."""
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "gone").mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "folder/d.txt", "gone/a.txt", "never.txt"):
        (root / name).write_text("")
    journal = tmp_path / "journal"
    subprocess.run(
        [sys.executable, "-c", CODE, root, journal],
        env={**os.environ, "PYTHONPATH": str(HOME)},
        check=True,
    )

    # `gone/a.txt` is deleted by a name in a folder that is open: a.txt, which is there as well.
    assert ("a.txt", "b.txt", "c.txt", "folder/d.txt") == read_opened(journal)


def test_a_run_that_opened_nothing(tmp_path: Path) -> None:
    """It has no journal if it ended before it could begin one."""
    assert () == read_opened(tmp_path / "journal")


@pytest.mark.parametrize(
    "name",
    [
        *("plugins/kit.py", "plugins/loop/next.py", "tests/gate/checks.py", "conftest.py"),
        *("pyproject.toml", "tox.ini", "katas/lecture02/lecture.toml", ".katas/build/a/b.so"),
        *("katas/__pycache__/a.pyc", "__pycache__/a.pyc", ".git/HEAD"),
    ],
)
def test_the_engine_is_left_out(name: str) -> None:
    """A change there is answered by running all katas."""
    assert ENGINE.fullmatch(name)


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "episodes.toml", "katas/lecture02/k01_strides.py", "katas/conftest.py"),
        *("tests/wrong/lecture02/k01_strides.toml", "tests/conftest.py", "docs/a.md"),
    ],
)
def test_other_files_are_not(name: str) -> None:
    """A kata's test that reads one of them needs it in its key."""
    assert not ENGINE.fullmatch(name)
