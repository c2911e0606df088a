"""Finds untouched katas, by comparing with git history."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from plugins.course.files import NOT_THE_LEARNERS
from plugins.course.files import learners_files
from plugins.guide.traceback import TODO
from plugins.tools.git import GitError
from plugins.tools.git import Repo


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.course.model import Kata


def katas_as_given(root: Path, katas: Iterable[Kata]) -> list[Kata]:
    """Return the untouched katas, whose files are those of the course's last commit.

    A hunt for bugs lacks no code, so only git history shows whether it is untouched.
    Those of other packages are not in this history.
    """
    ours = [kata for kata in katas if kata.folder.is_relative_to(root)]
    files = {kata: [file for file in learners_files(kata) if file.is_file()] for kata in ours}
    names = [str(file) for own in files.values() for file in own]
    if not names:
        return []
    repo = Repo(root)
    try:
        commit = repo.line("log", "-1", "--format=%H", "HEAD", "--", *NOT_THE_LEARNERS)
        known = repo.run("ls-tree", "-r", "-z", "--name-only", commit, "--", *names)
        changed = repo.run("diff", "--name-only", "--relative", "-z", commit, "--", *names)
    except (GitError, OSError):
        # No repository, or no git.
        return []
    given = {*known.split(b"\0")} - {*changed.split(b"\0")}
    same = {root / os.fsdecode(name) for name in given if name}
    return [
        kata for kata, own in files.items() if same.issuperset(own) and any(map(says_todo, own))
    ]


def says_todo(file: Path) -> bool:
    """Whether a comment in a file says what is to be written."""
    return bool(TODO.search(file.read_text(encoding="utf-8", errors="replace")))
