"""Which files a run opens: by Python, in forks, on command lines; the engine's own are left out."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.gate.file_trace import ENGINE
from tests.gate.file_trace import SETTINGS
from tests.gate.file_trace import read_opened
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from pathlib import Path


BEGIN = """
import os, pathlib, shutil, subprocess, sys
from tests.gate.file_trace import watch

root, journal = map(pathlib.Path, sys.argv[1:])
os.chdir(root)
watch(str(root), journal)
"""
CODE = """
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


def opened(tmp_path: Path, code: str, *names: str) -> tuple[str, ...]:
    """Return what a process opens of a folder with these files while it runs the code."""
    root = tmp_path / "root"
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    journal = tmp_path / "journal"
    subprocess.run(
        [sys.executable, "-c", BEGIN + code, root, journal],
        env={**os.environ, "PYTHONPATH": str(HOME)},
        check=True,
    )
    return read_opened(journal)


def test_what_a_process_opens(tmp_path: Path) -> None:
    """Once each, relative to the repository; neither what lies outside nor what is deleted."""
    # The folder `gone/never.txt` is deleted by a name in a folder that is open: never.txt, which
    # is a file here.
    names = ("a.txt", "b.txt", "c.txt", "folder/d.txt", "gone/never.txt/a.txt", "never.txt")

    assert ("a.txt", "b.txt", "c.txt", "folder/d.txt") == opened(tmp_path, CODE, *names)


@pytest.mark.parametrize(
    "code",
    [
        # The same name was another file before.
        "os.chdir(journal.parent); open('a.txt', 'w').close(); os.chdir(root); open('a.txt')",
        # It was not there before.
        "os.rename('a.txt', 'b'); open('a.txt', 'w').close(); open('a.txt')",
        "os.system('cat a.txt')",
        "os.system('cat<a.txt >/dev/null; true')",
        "subprocess.run('cat a.txt | cat', shell=True)",
        "subprocess.run(['cat', '../a.txt'], cwd='folder')",
        "subprocess.run(['cat', b'../a.txt'], cwd=pathlib.Path('folder'))",
        "subprocess.run('cat ../a.txt', shell=True, cwd='folder')",
        "subprocess.run(['sort', '--files0-from=a.txt'])",
        "os.waitpid(os.posix_spawn('/bin/cat', ['cat', 'a.txt'], os.environ), 0)",
        "os.spawnlp(os.P_WAIT, 'cat', 'cat', 'a.txt')",
        "os.waitpid(os.fork() or os.execvp('cat', ['cat', 'a.txt']), 0)",
        "import ctypes; ctypes.CDLL(root / 'a.txt')",
        "os.symlink(root / 'a.txt', journal.parent / 'link'); open(journal.parent / 'link')",
        "os.symlink(root, journal.parent / 'way'); open(journal.parent / 'way/a.txt')",
        "subprocess.run(['echo', 'no end \"', 'a.txt'])",
    ],
)
def test_ways_to_a_file(tmp_path: Path, code: str) -> None:
    """By the shell, from another folder, by a link: it is noted under its own name."""
    code = f"import contextlib\nwith contextlib.suppress(OSError):\n    {code}"

    assert ("a.txt",) == opened(tmp_path, code, "a.txt", "folder/c.txt")


def test_a_link_into_another_folder(tmp_path: Path) -> None:
    """One of the repository is noted by its own name: the key has the text behind it."""
    code = "os.symlink(journal.parent, root / 'link'); open('link/journal')"

    assert ("link/journal",) == opened(tmp_path, code, "a.txt")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A name relative to it is no file, and no name is too odd."""
    code = """
os.chdir("folder")
shutil.rmtree(root / "folder")
for name in ("a.txt", "a" + chr(0)):
    try:
        open(name)
    except (OSError, ValueError):
        pass
open(root / "a.txt")
"""

    assert ("a.txt",) == opened(tmp_path, code, "a.txt", "folder/c.txt")


def test_cached_bytecode_is_its_source(tmp_path: Path) -> None:
    """Whether it lies beside the source or in a folder of its own."""
    code = """
sys.path.insert(0, ".")
sys.dont_write_bytecode = False
import a
del sys.modules["a"]
pathlib.Path("__pycache__/b.cpython-311.pyc").touch()
open("__pycache__/b.cpython-311.pyc")
sys.pycache_prefix = str(journal.parent / "cache")
import folder.c
"""
    names = ("a.py", "b.py", "folder/c.py")

    assert names == opened(tmp_path, code, *names)


def test_a_run_that_opened_nothing(tmp_path: Path) -> None:
    """It has no journal if it ended before it could begin one."""
    assert () == read_opened(tmp_path / "journal")


@pytest.mark.parametrize(
    "name",
    [
        *("plugins/kit.py", "plugins/loop/next.py", "tests/gate/checks.py", "conftest.py"),
        *("tests/__init__.py", ".katas/build/a/b.so", ".hypothesis/examples/a"),
    ],
)
def test_the_modules_of_the_engine_are_left_out(tmp_path: Path, name: str) -> None:
    """A change there is answered by running all katas; builds are not in the repository."""
    assert ENGINE.fullmatch(name)
    assert () == opened(tmp_path, f"open({name!r})", name)


@pytest.mark.parametrize(
    "name",
    [
        *("pyproject.toml", "tox.ini", "pytest.ini", "setup.cfg", "katas/lecture02/lecture.toml"),
        *("plugins/cuda/csrc/simt.h", "plugins/cuda/csrc/simt.cpp"),
    ],
)
def test_a_setting_counts_where_a_test_reads_it(tmp_path: Path, name: str) -> None:
    """Pytest and the plugins read it in every run; a test that does rests on it."""
    assert SETTINGS.fullmatch(name)
    reader = str(HOME / "plugins/native/recipe.py")
    for code in (f"open({name!r})", f"pathlib.Path({name!r}).read_text()"):
        assert () == opened(tmp_path, f"exec(compile({code!r}, {reader!r}, 'exec'))", name)

    assert (name,) == opened(tmp_path, f"pathlib.Path({name!r}).read_text()", name)
    # A fixture of the plugins may call a test's function back.
    back = f"call = lambda: open({name!r})\nexec(compile('call()', {reader!r}, 'exec'))"
    assert (name,) == opened(tmp_path, back, name)


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "episodes.toml", "katas/lecture02/k01_bytes.py", "katas/conftest.py"),
        *("katas/lecture02/.meta/k01_bytes/wrong.toml", "tests/conftest.py", "docs/a.md"),
        *("plugins/data.json", ".github/x", ".ci/run", "build/x", "docs/pictures/a.py"),
        "katas/lecture02/.meta/k01_bytes/proof.json",
        *("requirements.txt", "tests/gate/a.toml", ".git/HEAD"),
    ],
)
def test_other_files_are_not(tmp_path: Path, name: str) -> None:
    """A kata's test that reads one of them needs it in its key."""
    assert (name,) == opened(tmp_path, f"open({name!r})", name)
