"""``nox -s update`` of a fork that has solved half of each first edition, from the history."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.fork.update import main
from tests.support.fork import git


if TYPE_CHECKING:
    from pathlib import Path


# The first file that the second editions renamed: before that commit all lectures were first ones.
RENAMED = "katas/lecture03/k01_vjps.py"
LECTURES = ("lecture02", "lecture03", "lecture04")
STAYS = r"upstream has made k\d\d_.* of it: your answer stays here"


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """Return a fork of the course as it was before its second editions."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this course is no clone: git clone it to test with its history")
    base = git(ROOT, "log", "-1", "--diff-filter=D", "--format=%P", "--", RENAMED).strip()
    if not base:
        pytest.skip("the first editions are not in this clone: git fetch --unshallow")
    upstream, folder = tmp_path / "upstream", tmp_path / "fork"
    git(tmp_path, "clone", "-q", "--bare", str(ROOT), str(upstream))
    git(upstream, "update-ref", "refs/heads/main", git(ROOT, "rev-parse", "HEAD").strip())
    git(tmp_path, "clone", "-q", "--no-checkout", "--origin", "upstream", str(upstream), "fork")
    git(folder, "checkout", "-q", "-B", "mine", base)
    return folder


def exercises(fork: Path) -> dict[str, str]:
    """Return the text of each exercise of the three lectures, by its path."""
    found = {}
    for lecture in LECTURES:
        folder = fork / "katas" / lecture
        for file in sorted([*folder.glob("k*.py"), *folder.glob("csrc/k*.cpp")]):
            found[file.relative_to(fork).as_posix()] = file.read_text(encoding="utf-8")
    return found


def solve_half(fork: Path) -> dict[str, str]:
    """Write a reference solution into every second exercise, and commit them."""
    answers = {}
    for path in [*exercises(fork)][::2]:
        _, lecture, name = path.split("/", 2)
        shutil.copy(fork / "katas" / lecture / "solutions" / name, fork / path)
        answers[path] = (fork / path).read_text(encoding="utf-8")
    git(fork, "commit", "-q", "-a", "-m", "Solve half of three lectures")
    return answers


def test_a_fork_that_has_solved_half_of_each_lecture(
    fork: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each answer is there afterwards, and it is said which katas were made of its kata."""
    answers = solve_half(fork)
    assert len(answers) > 20

    assert 0 == main([], fork)
    out = capsys.readouterr().out
    now = exercises(fork)
    assert "" == git(fork, "status", "--porcelain")
    lost = [path for path, text in answers.items() if text not in now.values()]
    assert [] == [path for path in lost if f"merged  {path}" not in out]
    for path in answers.keys() & now.keys():
        if not (ROOT / path).exists():
            assert re.search(rf"^left    {path}\n        {STAYS}$", out, re.MULTILINE)
    # What was not solved is of the second edition.
    assert {*exercises(ROOT)} == now.keys() - (answers.keys() - exercises(ROOT).keys())
