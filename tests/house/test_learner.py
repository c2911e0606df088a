"""A learner works through three katas from a fresh clone, with mishaps on the way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.conftest import CLEARED
from tests.support.fork import git
from tests.support.terminal import Terminal


if TYPE_CHECKING:
    from pathlib import Path


LECTURE = "katas/lecture02"
# What its first kata says at the end.
LEARNED = tomllib.loads((ROOT / LECTURE / "lecture.toml").read_text())["kata"][0]["learned"]
UNWRITTEN = 'raise NotImplementedError("contiguous_strides")'
CRASH = "__import__('os').abort()"


class Learner:
    """Works in a clone; the authors have another one."""

    def __init__(self, folder: Path) -> None:
        self.authors, self.fork = folder / "authors", folder / "fork"
        bare = folder / "upstream.git"
        git(folder, "init", "-q", "--bare", str(bare))
        # Works for any checkout, even a shallow one.
        git(bare, "fetch", "-q", "--depth=1", ROOT.as_uri(), "HEAD")
        commit = git(bare, "commit-tree", "FETCH_HEAD^{tree}", "-m", "The course")
        git(bare, "update-ref", "refs/heads/main", commit)
        for clone in (self.authors, self.fork):
            git(folder, "clone", "-q", str(bare), str(clone))
        git(self.fork, "remote", "rename", "origin", "upstream")

    def run(self, *arguments: str) -> str:
        """Run a module of Python in the clone and return what it prints."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.fork,
            env={**os.environ, "GIT_CONFIG_GLOBAL": str(self.fork.parent / "gitconfig")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def solve(self, name: str) -> None:
        """Copy the solution over the exercise."""
        shutil.copyfile(self.fork / LECTURE / "solutions" / name, self.fork / LECTURE / name)

    def publish(self, name: str, old: str, new: str) -> None:
        """Let the authors change a file of the lecture."""
        file = self.authors / LECTURE / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))
        git(self.authors, "commit", "-qam", "Say it better")
        git(self.authors, "push", "-q", "origin", "HEAD")


@pytest.fixture
def learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learner:
    """Return a learner with a fresh clone and their own settings."""
    for name in (*CLEARED, *(name for name in os.environ if name.startswith("KATAS_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    settings = "[user]\nname = A Learner\nemail = learner@example.com\n"
    (tmp_path / "gitconfig").write_text(settings)
    return Learner(tmp_path)


@pytest.mark.slow
@pytest.mark.torch
def test_three_katas_from_a_fresh_clone(learner: Learner) -> None:
    """With hints, a crash, a reset and an update; the map and the page show them."""
    with Terminal(learner.fork, LECTURE, "--watch", "--next") as terminal:
        begin = terminal.shown()
        hints = [terminal.press("h"), terminal.press("h")]
        learner.solve("k01_bytes.py")
        first = terminal.shown()
        second = terminal.press("n")

        answer = learner.fork / LECTURE / "k02_strides.py"
        answer.write_text(answer.read_text().replace(UNWRITTEN, CRASH))
        crash = terminal.shown()
        reset = learner.run("plugins.reset", "lecture02/k02_strides")
        stub = terminal.shown()
        learner.solve("k02_strides.py")
        terminal.shown()
        third = terminal.press("n")

        git(learner.fork, "commit", "-qam", "Two answers")
        learner.publish("k03_views.py", '"""', '"""In other words: ')
        update = learner.run("plugins.update")
        moved = terminal.shown()
        hint = terminal.press("h")
        learner.solve("k03_views.py")
        fourth = terminal.shown()
        terminal.process.send("q")
        status, _ = terminal.end()
    course = learner.run("pytest", "--course")
    learner.run("pytest", "--page", "page.html")
    learner.run("pytest", "--page", "page.md")
    page = (learner.fork / "page.html").read_text()
    summary = (learner.fork / "page.md").read_text()

    assert "\nlecture02/k01_bytes: " in begin
    assert ["Hint 1 of 3", "Hint 2 of 3"] == re.findall(r"Hint \d of 3", "".join(hints))
    assert "lecture02/k01_bytes is solved: " in first
    assert f"learned {LEARNED} time" in " ".join(first.split())
    assert "\nlecture02/k02_strides: " in second
    assert "abort (SIGABRT)" in crash
    assert f"{CRASH}\n" in crash
    assert ".katas/backup" in reset
    assert "NotImplementedError: contiguous_strides" in stub
    assert "\nlecture02/k03_views: " in third
    assert "1 moved on.\n" in update
    assert "brief   In other words: " in moved
    assert "Hint 1 of 3" in hint
    assert "lecture02/k03_views is solved: " in fourth
    assert 0 == status
    (kept,) = (learner.fork / ".katas/backup").rglob("k02_strides.py")
    assert CRASH in kept.read_text()
    assert "3 of " in course.splitlines()[0]
    assert course.splitlines()[0].endswith("3 hints taken")
    assert "3 hints" in page
    assert "3 hints" in summary
