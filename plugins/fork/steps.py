"""Carries out an update: objects, copies, files, the index; each step can be repeated."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.fork.plan import CHANGED
from plugins.tools.files import keep_copy
from plugins.tools.files import read_if_there
from plugins.tools.files import state_folder
from plugins.tools.files import write_whole
from plugins.tools.git import GitEntry
from plugins.tools.git import GitError


if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from plugins.fork.plan import Settled
    from plugins.fork.plan import Step
    from plugins.tools.git import Repo


FOLDER = ".katas/update"
# Beside git's own index, to replace it by a rename.
PREFIX = "katas-index-"
EXECUTABLE = 0o111


def make_entry(repo: Repo, step: Step, settled: Settled) -> GitEntry | None:
    """Return the entry of a file for a tree or an index."""
    if settled.content is None:
        return None
    return GitEntry(step.mode, repo.add_blob(settled.content))


def make_merge_commit(
    repo: Repo, steps: Iterable[Step], upstream: str, head: str, theirs: str, *, ahead: bool
) -> str:
    """Return a commit that merges the steps into `head`.

    A fork that is not `ahead` has no commits of its own, and gets upstream's commit.
    """
    if not ahead:
        return theirs
    changes = {
        step.path: make_entry(repo, step, step.commit)
        for step in steps
        if step.changes(step.commit)
    }
    with tempfile.TemporaryDirectory(prefix="katas-") as folder:
        index = Path(folder, "index")
        repo.run("read-tree", head, index=index)
        repo.change_index(index, changes)
        tree = repo.run("write-tree", index=index).decode().strip()
    message = f"Take what is new in {upstream}"
    parents = ["-p", head, "-p", theirs]
    return repo.run("commit-tree", *parents, "-m", message, tree).decode().strip()


def write_files(repo: Repo, steps: Iterable[Step], theirs: str, now: datetime) -> dict[str, str]:
    """Bring the working tree up to date and return the copies that were made, by path."""
    copies: dict[str, str] = {}
    for step in steps:
        if folder := upstreams_folder(step, theirs):
            for name, text in ((f"before/{step.path}", step.base), (step.path, step.theirs)):
                if text is not None:
                    file = repo.root / folder / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_whole(file, text, file.parent)
        for path, text in find_texts_to_copy(step).items():
            copies[path] = keep_copy(repo.root, path, text, now)
        if step.changes(step.tree):
            write_file(repo.root, step)
    return copies


def find_texts_to_copy(step: Step) -> dict[str, bytes]:
    """Return the texts that will be replaced and are merged or in no commit, by path."""
    found: dict[str, bytes] = {}
    known = {step.base, step.theirs}
    if step.tree.content is not None:
        # Else the answer has another name now, and may have been merged there.
        known.add(step.committed)
    edited = step.tree.word == "merged" or (step.tree.word == "moved" and step.found not in known)
    if step.found is not None and edited:
        found[step.path] = step.found
    known.add(step.found)
    if step.staged is not None and step.index.word in CHANGED and step.staged not in known:
        found[f"{step.path}.staged"] = step.staged
    return found


def upstreams_folder(step: Step, theirs: str) -> str:
    """Return the folder for upstream's version of a file that was left, or ""."""
    left = step.tree.word == "left" and step.theirs is not None
    return f"{FOLDER}/{theirs[:10]}" if left else ""


def write_file(root: Path, step: Step) -> None:
    """Write or remove one file, unless an editor has saved it meanwhile."""
    file = root / step.path
    if read_if_there(file) != step.found:
        raise GitError(f"{step.path} was saved while it was updated: run the same command again")
    if step.tree.content is None:
        file.unlink()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, step.tree.content, state_folder(root))
    mode = file.stat().st_mode
    file.chmod(mode | EXECUTABLE if step.mode.endswith("755") else mode & ~EXECUTABLE)


def write_index(repo: Repo, steps: Iterable[Step]) -> None:
    """Replace the index by one with the new files; what else was staged stays staged."""
    changes = {
        step.path: make_entry(repo, step, step.index) for step in steps if step.changes(step.index)
    }
    index = repo.git_path("index")
    lock = index.with_name("index.lock")
    new = index.with_name(f"{PREFIX}{os.getpid()}")
    shutil.copyfile(index, new)
    repo.change_index(new, changes)
    try:
        # The lock of git itself: the process that makes this name may replace the index.
        os.link(new, lock)
    except FileExistsError:
        new.unlink()
        raise GitError(f"another git is at work, or was killed: see {lock}") from None
    lock.replace(index)
    new.unlink()


def remove_leftovers(repo: Repo) -> None:
    """Remove the files that a killed run has left: all that they hold is elsewhere too."""
    index = repo.git_path("index")
    lock = index.with_name("index.lock")
    for left in index.parent.glob(f"{PREFIX}*"):
        if lock.exists() and left.samefile(lock):
            lock.unlink()
        left.unlink()
