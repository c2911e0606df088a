"""Which kata a saved file means under ``--watch``, and what to say of the save."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from plugins.course.files import learners_files


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata


# Files of a lecture that none of its katas owns, such as headers and helpers, end in one of these.
SHARED = frozenset({".py", ".cpp", ".cu", ".h", ".hpp", ".cuh"})
# A .pyc file records its source's modification time in whole seconds, and its size (PEP 552).
SECOND = 2.0


class SavedFiles:
    """Knows the files of the katas that are watched, and of the others of the course."""

    def __init__(self, course: Course, katas: Sequence[Kata], start: Path) -> None:
        self.start = start
        self.katas = {file: kata for kata in katas for file in watched_files(kata)}
        self.folders = {kata.folder for kata in katas}
        ids = {kata.id for kata in katas}
        rest = (kata for each in course.lectures for kata in each.katas if kata.id not in ids)
        self.others = {file: kata.id for kata in rest for file in watched_files(kata)}

    def owned(self, files: Iterable[Path]) -> dict[str, tuple[Kata, Path]]:
        """Return those of the files that belong to a kata, by its id."""
        return {kata.id: (kata, file) for file in files if (kata := self.katas.get(file))}

    def is_shared(self, file: Path) -> bool:
        """Whether a file may be used by several katas of a lecture."""
        within = self.folders.intersection(file.parents)
        return bool(within) and file.suffix in SHARED and "solutions" not in file.parts

    def describe(self, file: Path) -> str:
        """Return the line above the output: what happened to which file."""
        what = "saved" if file.exists() else "removed"
        return f"{what:8}{os.path.relpath(file, self.start)}"


def watched_files(kata: Kata) -> list[Path]:
    """Return the files that belong to one kata."""
    return [kata.test, kata.exercise, *learners_files(kata)]


def keep_no_bytecode(folders: Iterable[Path]) -> None:
    """Let this process write no bytecode if a module was saved just now.

    If it were saved again within the second, with the same size, Python would run the bytecode.
    """
    limit = time.time() - SECOND
    if any(was_saved_since(limit, folder) for folder in folders if folder.is_dir()):
        sys.dont_write_bytecode = True


def was_saved_since(limit: float, folder: Path) -> bool:
    """Whether a module in `folder` has changed since then, or is being removed."""
    # A Path for each of the files would take longer than the look at them.
    with os.scandir(folder) as entries:
        try:
            return any(
                each.name.endswith(".py") and each.stat().st_mtime > limit for each in entries
            )
        except FileNotFoundError:
            return True
