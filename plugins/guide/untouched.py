"""Finds untouched katas and stubs: by git's history, or without it by the times of the files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.files import NOT_THE_LEARNERS
from plugins.course.files import learners_files
from plugins.course.names import KATAS
from plugins.guide.traceback import TODO
from plugins.tools.git import GitError
from plugins.tools.git import Repo


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.course.model import Kata


# Seconds: archives round to two of them.
AT_ONCE = 2.0


def katas_as_given(root: Path, katas: Iterable[Kata]) -> list[Kata]:
    """Return the untouched katas, whose files are those of the course's last commit.

    A hunt for bugs lacks no code, so only git history shows whether it is untouched. Without it,
    as in an archive that was downloaded, a file that is no younger than the tests is as it came.
    Those of other packages are not in this history.
    """
    ours = [kata for kata in katas if kata.folder.is_relative_to(root)]
    files = {kata: [file for file in learners_files(kata) if file.is_file()] for kata in ours}
    names = [str(file) for own in files.values() for file in own]
    if not names:
        return []
    same = same_as_committed(root, names)
    if same is None:
        same = as_old_as_the_tests(root, map(Path, names))
    return [
        kata for kata, own in files.items() if same.issuperset(own) and any(map(says_todo, own))
    ]


def same_as_committed(root: Path, names: Sequence[str]) -> set[Path] | None:
    """Return those of the files that are as in the course's last commit; None without history."""
    repo = Repo(root)
    try:
        commit = authors_commit(repo)
        known = repo.run("ls-tree", "-r", "-z", "--name-only", commit, "--", *names)
        changed = repo.run("diff", "--name-only", "--relative", "-z", commit, "--", *names)
    except (GitError, OSError):
        # No repository, or no git.
        return None
    given = {*known.split(b"\0")} - {*changed.split(b"\0")}
    return {root / os.fsdecode(name) for name in given if name}


def as_old_as_the_tests(root: Path, files: Iterable[Path]) -> set[Path]:
    """Return those of the files that are not younger than the youngest test of a kata.

    Whatever unpacks or copies the course writes both at once; a learner edits one of them.
    """
    tests = (root / KATAS).glob("*/test_*.py")
    youngest = max((file.stat().st_mtime for file in tests), default=0.0)
    return {file for file in files if file.stat().st_mtime <= youngest + AT_ONCE}


def has_history(root: Path) -> bool:
    """Whether git knows the course; in an archive the times of the files must do."""
    try:
        return bool(authors_commit(Repo(root)))
    except OSError:
        # No git.
        return False


def authors_commit(repo: Repo) -> str:
    """Return the last commit that changes what learners leave alone, or "" without a history."""
    return repo.line("log", "-1", "--format=%H", "HEAD", "--", *NOT_THE_LEARNERS)


def text_as_given(root: Path, file: Path) -> str | None:
    """Return the text of a learner's file in the course's last commit; None if it is not known."""
    if not file.is_relative_to(root):
        return None
    repo = Repo(root)
    try:
        name = f"{authors_commit(repo)}:./{file.relative_to(root).as_posix()}"
        return repo.run("show", name).decode(errors="replace")
    except (GitError, OSError):
        return None


def says_todo(file: Path) -> bool:
    """Whether a comment in a file says what is to be written."""
    return bool(TODO.search(file.read_text(encoding="utf-8", errors="replace")))
