"""Tests of k01_commit: check the resulting repository as a reviewer would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture28.k01_commit import RIGHT
from katas.lecture28.k01_commit import WRONG
from katas.lecture28.k01_commit import answer
from katas.lecture28.repository import Commit
from katas.lecture28.repository import build
from katas.lecture28.repository import edit
from katas.lecture28.repository import newest
from katas.lecture28.repository import not_an_order


if TYPE_CHECKING:
    from pathlib import Path

    from katas.lecture28.conftest import Kept
    from katas.lecture28.repository import Clone
    from katas.lecture28.repository import Logged


DOCS, KERNELS, NOTES = "docs/ops.md", "tinytorch/kernels.py", "notes.txt"
PRINT, WORDS = "\nprint(relu_cpu([-1.0]))\n", "relu(-1) is 0.0\n"


def answered(folder: Path) -> Clone:
    """Return the clone after the answer."""
    __tracebackhide__ = True
    wrong = edit(newest(), DOCS, "and zero for the others", WRONG)
    clone = build(folder, main=(Commit("Shorten the section on relu", wrong),))
    run = clone.run
    run.write(KERNELS, run.read(KERNELS) + PRINT)
    run.write(NOTES, WORDS)
    answer(run)
    return clone


def commit_of(clone: Clone) -> Logged:
    """Return the one commit of the branch."""
    __tracebackhide__ = True
    assert "refs/heads/relu-docs" in clone.refs(), (
        "your clone has no branch relu-docs: git switch -c NAME creates one"
    )
    found = clone.log("upstream/main..relu-docs")
    assert len(found) == 1, (
        f"your relu-docs has {len(found)} commits above upstream/main, expected one"
    )
    return found[0]


def test_the_docs_are_mended(kept: Kept) -> None:
    """The docs are fixed on the branch, in that one place."""
    clone = kept(answered)
    commit = commit_of(clone)
    before, yours = (clone.show(name, DOCS) for name in ("upstream/main", commit.sha))
    assert before != yours, f"{DOCS} is unchanged in your commit: is the edit in the index?"
    assert before.replace(WRONG, RIGHT) == yours, (
        f"expected {RIGHT!r} in {DOCS} and no other change; yours:\n"
        + clone.git("diff", "upstream/main", commit.sha, "--", DOCS)
    )
    assert not clone.ci(commit.sha), f"CI is red for your commit:\n{clone.ci(commit.sha)}"


def test_it_is_one_concern(kept: Kept) -> None:
    """The commit changes one file: a stray print would be merged, or cost a round of review."""
    clone = kept(answered)
    yours = clone.changed(commit_of(clone).sha)
    assert [DOCS] == yours, (
        f"your commit changes {yours}, expected only {DOCS}: name the files to commit"
    )


def test_main_stays(kept: Kept) -> None:
    """Your main mirrors upstream's: every later branch would contain a commit made there."""
    clone = kept(answered)
    commit_of(clone)
    expected = clone.before["refs/heads/main"]
    assert expected == clone.refs()["refs/heads/main"], (
        "your main has moved from upstream's: commit only on the branch"
    )
    assert clone.upstream.before == clone.upstream.refs(), (
        f"upstream now has {clone.upstream.refs()}, expected {clone.upstream.before}: you may"
        " not push there"
    )


def test_your_work_stays(kept: Kept) -> None:
    """The print and the notes are unchanged, in no commit and not in the index."""
    clone = kept(answered)
    commit_of(clone)
    yours = clone.status().splitlines()
    assert [f" M {KERNELS}", f"?? {NOTES}"] == yours, (
        f"git status shows {yours}, expected the print and the notes, still there and not staged"
    )
    kept_away = [name for name in clone.refs() if name == "refs/stash"]
    assert not kept_away, (
        "your answer leaves a stash, expected none: your work is in the folder again, and"
        " git stash pop would apply it a second time"
    )
    for path, expected in ((KERNELS, newest()[KERNELS] + PRINT), (NOTES, WORDS)):
        text = clone.run.read(path)
        assert expected == text, f"your {path} ends with {text[-60:]!r}, expected it unchanged"


def test_the_subject(kept: Kept) -> None:
    """The log shows only this line, and a release note begins with it."""
    yours = commit_of(kept(answered)).subject
    said = f"the subject of yours is {yours!r}, expected"
    assert len(yours) <= 72, f"{said} at most 72 characters: it has {len(yours)}"
    assert yours[0].isupper(), f"{said} a capital letter at the beginning"
    assert not yours.endswith("."), f"{said} no full stop: it is a title"
    assert not not_an_order(yours), f"{said} an imperative: what the commit does to the project"
    assert "relu" in yours, f"{said} it to say what it is about: which operator's docs?"


def test_the_body(kept: Kept) -> None:
    """The body says why, in lines of at most 72 characters, and ends with the issue."""
    yours = commit_of(kept(answered)).body.splitlines()
    assert yours, "your commit has no body, expected the reason: a second -m adds one"
    assert yours[-1] == "Fixes #17", (
        f"your last line is {yours[-1]!r}, expected 'Fixes #17': merging then closes the issue"
    )
    words = " ".join(yours[:-1]).split()
    assert len(words) >= 4, f"your body is {yours}, expected a sentence that says why"
    long = [line for line in yours if len(line) > 72]
    assert not long, (
        f"expected lines of at most 72 characters, yours has {long}: git does not wrap them"
    )
