"""Tests of k12_pull_request: the course's own guard and practice commands check a small course."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from katas.lecture28.k12_pull_request import KATA
from katas.lecture28.k12_pull_request import RIGHT
from katas.lecture28.k12_pull_request import WRONG
from katas.lecture28.k12_pull_request import answer
from katas.lecture28.repository import YOU
from katas.lecture28.repository import Branch
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build


if TYPE_CHECKING:
    from katas.lecture28.conftest import Kept
    from katas.lecture28.repository import Clone
    from katas.lecture28.repository import Logged
    from katas.lecture28.repository import Tree


ROOT = Path(__file__).parents[2]
NAME = "clearer-brief"
STUB = f'''"""Write the strides of a contiguous matrix.

A matrix of 2 rows and 3 columns {WRONG}. In PyTorch: c10/core/Contiguity.h.
"""


def strides(rows, columns):
    """Return the strides of the two dims."""
    # TODO: how many elements lie between two rows?
    raise NotImplementedError("strides")
'''
TODO = "    # TODO: how many elements lie between two rows?\n"
SOLVED = STUB.replace(TODO, "").replace('raise NotImplementedError("strides")', "return columns, 1")
TEST = """from katas.lecture01.k01_strides import strides


def test_two_rows():
    assert strides(2, 3) == (3, 1)
"""
TABLE = """title = "Tensors"

[syllabus]
a = "Strides"

[[kata]]
name = "k01_strides"
title = "Strides"
kind = "lab"
syllabus = ["a"]
episodes = []
upstream = ["c10/core/Contiguity.h: _compute_contiguous"]
hints = ["a", "b", "c"]
"""


def course() -> Tree:
    """Return a course with a single kata, and this course's own commands."""
    files = [
        *((ROOT / "plugins").glob("*.py")),
        *(each for wing in ("course", "fork", "guide", "tools") for each in wing_files(wing)),
    ]
    return {
        ".gitignore": "__pycache__/\n.katas/\n",
        "episodes.toml": "",
        "katas/lecture01/lecture.toml": TABLE,
        KATA: STUB,
        "katas/lecture01/test_k01_strides.py": TEST,
        "katas/lecture01/solutions/k01_strides.py": SOLVED,
        **{file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files},
    }


def wing_files(wing: str) -> list[Path]:
    """Return the modules of a wing of the plugins."""
    return sorted((ROOT / "plugins" / wing).rglob("*.py"))


def opened(folder: Path) -> Clone:
    """Return the clone after the answer."""
    __tracebackhide__ = True
    files = course()
    clone = build(
        folder,
        Branch("main", (Commit("Solve k01_strides", {**files, KATA: SOLVED}, YOU),), 0, BOTH),
        trunk=(Commit("Begin a course", files),),
    )
    answer(clone.run)
    return clone


BOTH = ("clone", "fork")


def commit_of(clone: Clone) -> Logged:
    """Return the pull request's single commit, from the fork."""
    __tracebackhide__ = True
    yours = clone.fork.refs()
    assert f"refs/heads/{NAME}" in yours, (
        f"your fork has {[*yours]}, expected a branch {NAME}: only pushed commits are in a pull"
        " request"
    )
    found = clone.log(f"upstream/main..{yours[f'refs/heads/{NAME}']}")
    assert len(found) == 1, (
        f"your pull request has {[*map(str, found)]}, expected only the corrected brief:"
        " where does your branch start?"
    )
    return found[0]


def asked(clone: Clone, command: str) -> str:
    """Return the output of a command of the course, in a separate checkout."""
    run = clone.run
    run(f"git worktree add --force --detach ../asked {clone.before['refs/heads/main']}")
    run.folder = clone.folder.parent / "asked"
    said = run(command, check=False)
    run.folder = clone.folder
    run("git worktree remove --force ../asked")
    return said


def test_it_is_one_commit(kept: Kept) -> None:
    """The pull request is a single commit in your fork, above upstream's main."""
    clone = kept(opened)
    commit = commit_of(clone)
    changed = clone.changed(commit.sha)
    assert [KATA] == changed, f"your commit changes {changed}, expected {KATA}"
    local = clone.refs().get(f"refs/heads/{NAME}", commit.sha)
    assert local == commit.sha, f"{NAME} in your fork differs from the one in your clone"


def test_the_guard_lets_it_in(kept: Kept) -> None:
    """The guard reads a pull request's files, and accepts yours as a contribution."""
    clone = kept(opened)
    commit = commit_of(clone)
    said = asked(clone, f"python -m plugins.guard --base upstream/main --head {commit.sha}")
    assert "This is a contribution" in said, (
        f"the guard does not accept your branch as a contribution:\n{said}"
    )


def test_the_brief_is_right(kept: Kept) -> None:
    """Nothing else in the stub changes: the next learner finds it unsolved."""
    clone = kept(opened)
    commit = commit_of(clone)
    yours = clone.show(commit.sha, KATA)
    assert STUB.replace(WRONG, RIGHT) == yours, (
        f"{KATA} in the pull request, expected {RIGHT!r} and no other change; yours:\n"
        + clone.git("diff", "upstream/main", commit.sha)
    )


def test_your_answer_stays_in_your_fork(kept: Kept) -> None:
    """The answer stays on main, where ``nox -s practice`` and your fork's workflow run it."""
    clone = kept(opened)
    commit_of(clone)
    for where, each in (("fork", clone.fork), ("clone", clone)):
        expected, yours = (refs.get("refs/heads/main") for refs in (each.before, each.refs()))
        assert expected == yours, (
            f"main in your {where} is at {yours}, expected {expected}, where it was, with your"
            " answer on top of upstream's commit"
        )
    said = asked(clone, "python -m plugins.guard --base upstream/main --head main")
    assert "These are answers to exercises" in said, (
        f"the guard does not find your answer on main:\n{said}"
    )


def test_upstream_has_no_branch_of_yours(kept: Kept) -> None:
    """Upstream does not change: you open a pull request, and a maintainer merges it."""
    clone = kept(opened)
    commit_of(clone)
    expected, yours = clone.upstream.before, clone.upstream.refs()
    assert expected == yours, f"upstream has {yours} after your answer, expected {expected}"


def test_practice_finds_your_answer(kept: Kept) -> None:
    """``nox -s practice`` runs the katas that differ from upstream; on main, yours passes."""
    clone = kept(opened)
    commit_of(clone)
    said = asked(clone, "python -m plugins.practice --base upstream/main")
    assert "1 passed" in said, (
        f'expected "1 passed" on your main branch, but practice prints:\n{said}'
    )
