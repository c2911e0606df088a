"""A course whose katas run, upstream and in a learner's fork: bare repositories and clones."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from plugins import ROOT
from tests.support.fork import EXERCISE
from tests.support.fork import HEAD
from tests.support.fork import SETTINGS
from tests.support.fork import STUB
from tests.support.fork import TABLE
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import write


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


SHARED = ("conftest.py", "pyproject.toml", "episodes.toml", "katas/__init__.py")
INIT = "from katas import overlay\n\n__path__ = overlay(__path__)\n"
TEST = '''from katas.lecture01 import {name} as kata


def test_one() -> None:
    assert 2 == kata.answer(1)


def test_twice() -> None:
    """It doubles."""
    assert 4 == kata.answer(2), "it has to double"
'''
SOLVED = STUB.replace('# TODO\n    raise NotImplementedError("answer")', "return 2 * n")
WRONG = STUB.replace('# TODO\n    raise NotImplementedError("answer")', "return n + 1")
FIRST = EXERCISE
SECOND = "katas/lecture01/k02_second.py"
THIRD = "katas/lecture01/csrc/k03_third.cpp"
CXX = '// tier: vec\n// The brief.\nextern "C" int kata_answer(int n) {{\n  {body}\n}}\n'
CXX_STUB = CXX.format(body="// TODO\n  return -n;")
CXX_SOLVED = CXX.format(body="return 2 * n;")
CXX_TEST = """import pytest

pytestmark = pytest.mark.backend("cxx")


def test_twice(extension) -> None:
    assert 4 == extension.symbol("kata_answer")(2)
"""


def course_files() -> dict[str, str | None]:
    """Return a lecture of two katas in Python and one in C++, which the real plugins can run."""
    folder = "katas/lecture01"
    names = {"k01_first": "", "k02_second": "", "k03_third": "csrc/k03_third.cpp"}
    tables = [
        TABLE.format(name=name, csrc=[csrc] if csrc else []).replace(
            "episodes = []", 'episodes = [{ slug = "strides", why = "it says what they are" }]'
        )
        for name, csrc in names.items()
    ]
    files: dict[str, str | None] = {
        **{name: (ROOT / name).read_text(encoding="utf-8") for name in SHARED},
        ".gitignore": (ROOT / ".gitignore").read_text(encoding="utf-8"),
        f"{folder}/lecture.toml": HEAD + "".join(tables),
        f"{folder}/__init__.py": INIT,
        f"{folder}/solutions/csrc/k03_third.cpp": CXX_SOLVED,
        f"{folder}/test_k03_third.py": CXX_TEST,
        THIRD: CXX_STUB,
    }
    for name in ("k01_first", "k02_second"):
        files[f"{folder}/{name}.py"] = STUB
        files[f"{folder}/solutions/{name}.py"] = SOLVED
        files[f"{folder}/test_{name}.py"] = TEST.format(name=name)
    return files


class PracticeFork(Fork):
    """An upstream, a fork of it on the same host, and the learner's clone of the fork.

    `root` is the learner's clone, in which `origin` is the fork.
    """

    def lie_in(self, path: Path) -> None:
        """Set where the repositories are."""
        super().lie_in(path)
        self.fork, self.root = path / "fork.git", path / "learner"

    def build(self, *, upstream: bool) -> None:
        """Make the repositories; this learner's clone is one of the fork."""
        super().build(upstream=upstream)
        self.publish(course_files(), "Begin in earnest")
        git(self.path, "clone", "--bare", str(self.bare), str(self.fork))
        shutil.rmtree(self.root)
        self.clone(self.fork, self.root.name)
        git(self.root, "remote", "add", "upstream", str(self.bare))
        git(self.root, "fetch", "-q", "upstream")

    def clone(self, repository: Path, name: str, *options: str) -> Path:
        """Return a clone in a folder of its own; by URL, which allows a shallow one."""
        folder = self.path / name
        git(self.path, "clone", "-q", *options, repository.as_uri(), str(folder))
        return folder

    def checkout(self, branch: str, name: str, *options: str) -> Path:
        """Return a checkout like that of a workflow after a push to the fork."""
        return self.clone(self.fork, name, "--branch", branch, *options)

    def edit(self, text: str = SOLVED, path: str = FIRST) -> None:
        """Let the learner save a file."""
        write(self.root, {path: text})


def settle_in(monkeypatch: pytest.MonkeyPatch, cleared: tuple[str, ...]) -> None:
    """Isolate git from this machine's settings, and let pytest find this checkout's plugins."""
    for name in (*cleared, "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("KATAS_BUILD", str(ROOT / ".katas/build"))
