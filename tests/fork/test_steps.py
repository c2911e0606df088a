"""The steps of an update, one by one: what each writes, and that it can be repeated."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.fork.plan import SAME_LINES
from plugins.fork.plan import Settled
from plugins.fork.plan import Step
from plugins.fork.steps import find_texts_to_copy
from plugins.fork.steps import make_entry
from plugins.fork.steps import make_merge_commit
from plugins.fork.steps import remove_leftovers
from plugins.fork.steps import upstreams_folder
from plugins.fork.steps import write_file
from plugins.fork.steps import write_files
from plugins.fork.steps import write_index
from plugins.tools.git import GitError
from plugins.tools.git import Repo
from tests.support.fork import EXERCISE
from tests.support.fork import STUB
from tests.support.fork import Fork
from tests.support.fork import git
from tests.support.fork import write


if TYPE_CHECKING:
    from pathlib import Path


NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
OLD, NEW, MINE = STUB.encode(), b"new\n", b"mine\n"
MOVED = Settled("moved", NEW)
# Upstream has changed a file that is as it was everywhere here.
STEP = Step(EXERCISE, "100644", OLD, NEW, OLD, OLD, OLD, MOVED, MOVED, MOVED)
THEIRS = "0123456789abcdef"


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """A fork in which nothing is edited."""
    return Fork(tmp_path)


def test_an_entry_holds_the_settled_content(fork: Fork) -> None:
    """A file that is removed has no entry."""
    repo = Repo(fork.root)
    entry = make_entry(repo, replace(STEP, mode="100755"), MOVED)

    assert entry
    assert ("100755", {entry.blob: NEW}) == (entry.mode, repo.blobs([entry.blob]))
    assert make_entry(repo, STEP, Settled("moved", None)) is None


def test_the_merge_commit_has_what_is_settled(fork: Fork) -> None:
    """On top of both sides; what the steps do not name stays, and so does the index."""
    repo = Repo(fork.root)
    theirs = repo.commit("HEAD")
    head = fork.commit({"mine.txt": "mine"})
    commit = make_merge_commit(repo, [STEP], "upstream/main", head, theirs, ahead=True)

    assert f"{head} {theirs}" == git(fork.root, "log", "-1", "--format=%P", commit)
    assert "Take what is new in upstream/main" == git(fork.root, "log", "-1", "--format=%s", commit)
    assert NEW == repo.blob(commit, EXERCISE)
    assert b"mine" == repo.blob(commit, "mine.txt")
    assert "" == git(fork.root, "status", "--porcelain")


def test_a_fork_without_commits_needs_no_merge(fork: Fork) -> None:
    """Its branch moves to upstream's commit."""
    assert THEIRS == make_merge_commit(
        Repo(fork.root), [STEP], "upstream/main", "", THEIRS, ahead=False
    )


def test_files_are_written_and_the_learners_are_copied(fork: Fork) -> None:
    """A merged file is copied; one that only moves on is in a commit already."""
    write(fork.root, {"other.py": "mine\n"})
    merged = replace(STEP, path="other.py", found=MINE, tree=Settled("merged", b"both\n"))
    copies = write_files(Repo(fork.root), [STEP, merged], THEIRS, NOW)

    assert ("new\n", "both\n") == (fork.read(), fork.read("other.py"))
    assert {"other.py": ".katas/backup/2026-11-22_12-30-00/other.py"} == copies
    assert {"other.py": "mine\n"} == fork.copies()


def test_upstreams_version_of_a_file_that_is_left_lies_beside(fork: Fork) -> None:
    """The one before lies there too; a file that upstream removed has none."""
    write(fork.root, {EXERCISE: "mine\n"})
    left = replace(STEP, found=MINE, tree=Settled("left", MINE, SAME_LINES))
    folder = upstreams_folder(left, THEIRS)
    added = replace(left, path="added.py", base=None)

    assert {} == write_files(Repo(fork.root), [left, added], THEIRS, NOW)
    assert ".katas/update/0123456789" == folder
    assert ("new\n", STUB) == (
        fork.read(f"{folder}/{EXERCISE}"),
        fork.read(f"{folder}/before/{EXERCISE}"),
    )
    assert "new\n" == fork.read(f"{folder}/added.py")
    assert not (fork.root / folder / "before/added.py").exists()
    assert "mine\n" == fork.read()
    assert "" == upstreams_folder(replace(left, theirs=None), THEIRS)
    assert "" == upstreams_folder(STEP, THEIRS)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (STEP, {}),
        (replace(STEP, found=MINE), {EXERCISE: MINE}),
        (replace(STEP, found=MINE, committed=MINE), {}),
        (replace(STEP, found=MINE, tree=Settled("kept", MINE)), {}),
        (replace(STEP, found=None), {}),
        (replace(STEP, staged=MINE), {f"{EXERCISE}.staged": MINE}),
        (replace(STEP, staged=MINE, index=Settled("left", MINE)), {}),
        (replace(STEP, staged=MINE, found=MINE), {EXERCISE: MINE}),
    ],
)
def test_what_is_replaced_and_in_no_commit_is_copied(
    step: Step, expected: dict[str, bytes]
) -> None:
    """The file and the index are copied, and the same text once."""
    assert expected == find_texts_to_copy(step)


def test_a_file_gets_its_content_and_mode(fork: Fork) -> None:
    """In a folder that may be new; a file that upstream removed goes."""
    step = replace(STEP, path="new/run", mode="100755", found=None)
    write_file(fork.root, step)
    file = fork.root / "new/run"

    assert (NEW, True) == (file.read_bytes(), os.access(file, os.X_OK))
    write_file(fork.root, replace(step, mode="100644", found=NEW))
    assert not os.access(file, os.X_OK)
    write_file(fork.root, replace(step, found=NEW, tree=Settled("moved", None)))
    assert not file.exists()


def test_a_file_that_was_saved_meanwhile_is_not_written(fork: Fork) -> None:
    """An editor's newer text stays."""
    write(fork.root, {EXERCISE: "saved\n"})

    with pytest.raises(GitError, match="was saved while it was updated"):
        write_file(fork.root, STEP)
    assert "saved\n" == fork.read()


def test_the_index_takes_what_is_new(fork: Fork) -> None:
    """Other staged files stay, and a second time changes nothing."""
    write(fork.root, {"staged.txt": "staged"})
    git(fork.root, "add", "staged.txt")
    repo = Repo(fork.root)
    for _ in range(2):
        write_index(repo, [STEP, replace(STEP, path="kept.py", index=Settled("kept", MINE))])

        assert "new" == git(fork.root, "show", f":{EXERCISE}")
        assert "staged" == git(fork.root, "show", ":staged.txt")
        assert "" == git(fork.root, "ls-files", "kept.py")
    assert [] == [*(fork.root / ".git").glob("katas*"), *(fork.root / ".git").glob("*.lock")]


def test_a_locked_index_stays(fork: Fork) -> None:
    """Another git holds it; our own copy goes."""
    lock = fork.root / ".git/index.lock"
    lock.touch()

    with pytest.raises(GitError, match=r"another git is at work, or was killed: see .*index\.lock"):
        write_index(Repo(fork.root), [STEP])
    assert STUB.strip() == git(fork.root, "show", f":{EXERCISE}")
    assert [] == [*(fork.root / ".git").glob("katas*")]


@pytest.mark.parametrize("ours", [True, False])
def test_only_a_lock_of_ours_is_removed(fork: Fork, *, ours: bool) -> None:
    """The lock of another git stays."""
    folder = fork.root / ".git"
    (folder / "katas-index-1").write_text("half")
    if ours:
        os.link(folder / "katas-index-1", folder / "index.lock")
    else:
        (folder / "index.lock").touch()
    remove_leftovers(Repo(fork.root))

    assert [] == [*folder.glob("katas*")]
    assert ours != (folder / "index.lock").exists()
