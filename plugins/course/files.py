"""Reads the files of an exercise, which the learner edits, and how large its reference is."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.course.model import Kata


# What learners leave alone, as git's pathspecs: a commit that changes it is by an author of the
# course, and has the exercises as they are given.
NOT_THE_LEARNERS = (":(glob)**/test_*.py", ":(glob)**/solutions/**", "plugins")
# The first line of a brief.
TITLE = re.compile(r'(?:r?"""|//[ ]*)(?P<title>(?!tier:)\S.*?)(?:""")?$', re.MULTILINE)
# What an exercise is written in.
SOURCES = {".py", ".cpp", ".cu"}
# What is no code in Python, C++ and CUDA: docstrings, comments, and directives such as #include.
BESIDE = re.compile(
    r'^[ \t]*(?:r?""".*?"""|/\*.*?\*/)[ \t]*$|^[ \t]*(?:#|//).*?$', re.MULTILINE | re.DOTALL
)


def learners_files(kata: Kata) -> Iterable[Path]:
    """Return the exercise's files: the Python module, if it has one, and its sources."""
    return (kata.folder / name for name in dict.fromkeys((f"{kata.name}.py", *kata.csrc)))


def earlier_answers(kata: Kata) -> list[Path]:
    """Return the learner's files of the kata that this one was made of, if they are still there.

    An update moves an answer that fits to the new name, and leaves one that does not.
    """
    if not kata.was:
        return []
    lecture, _, name = kata.was.partition("/")
    folder = kata.folder.parent / lecture
    if (folder / f"test_{name}.py").exists():
        # It is a kata of this edition too.
        return []
    found = [*folder.glob(f"{name}.py"), *folder.glob(f"csrc/{name}.*")]
    return sorted(file for file in found if file.suffix in SOURCES)


def exercise_texts(kata: Kata, start: Path) -> dict[str, str]:
    """Return the texts of the exercise's files by their paths from `start`.

    Removed files are left out; if none is left, the text says how to restore the exercise.
    """
    paths = dict.fromkeys((kata.exercise, *learners_files(kata)))
    texts = {
        path_from(start, path): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.is_file()
    }
    gone = f'"""It is gone: nox -s reset -- {kata.id} brings the stub back."""'
    return texts or {path_from(start, kata.exercise): gone}


def brief_title(files: Mapping[str, str]) -> str:
    """Return the first line of the brief."""
    for text in files.values():
        if found := TITLE.search(text):
            return found["title"].strip()
    return ""


def path_from(start: Path, path: Path) -> str:
    """Return a path as pytest's tracebacks have it: from `start`, unless the whole is shorter."""
    return min(os.path.relpath(path, start), str(path), key=len)


def content_of(kata: Kata) -> str:
    """Return a digest of the files that the learner edits; line endings make no difference."""
    digest = hashlib.sha256()
    for file in learners_files(kata):
        if file.is_file():
            text = file.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{file.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


def count_lines(kata: Kata) -> int:
    """Return how many lines of code the reference has; 0 if there is none.

    The learner's file cannot say it: a stub has too few lines, and an answer any number.
    """
    lines = 0
    for file in learners_files(kata):
        with suppress(OSError):
            reference = kata.folder / "solutions" / file.relative_to(kata.folder)
            text = BESIDE.sub("", reference.read_text(encoding="utf-8", errors="replace"))
            lines += sum(bool(line.strip()) for line in text.splitlines())
    return lines
