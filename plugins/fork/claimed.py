"""Finds the exercises that a learner has worked on: they differ from every stub of upstream's.

A file that upstream has changed since the fork took from it differs too, and is no answer. So the
history of the stub counts, and a branch may be rebased, squashed, renamed or rewritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.files import learners_files
from plugins.tools.files import read_if_there


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.tools.git import Repo


# The line, in the new version, of a change.
HUNK = re.compile(rb"^@@ \S+ \+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Claims:
    """What the learner has worked on.

    Attributes
    ----------
    katas
        Those whose exercise differs from the stub, in teaching order.
    own
        Those that upstream has never had: they have no stub to differ from.
    tests
        The test modules of claimed katas that upstream has never had.
    """

    katas: tuple[Kata, ...] = ()
    own: tuple[Kata, ...] = ()
    tests: tuple[str, ...] = ()


def find_claims(repo: Repo, course: Course, base: str) -> Claims:
    """Compare the exercises in the working tree, for that is what runs, with those of `base`."""
    katas = list(course.katas)
    files = {kata: list(learners_files(kata)) for kata in katas}
    compared = [file for found in files.values() for file in found]
    changed = find_differing(repo, base, [*compared, *(kata.test for kata in katas)])
    found: list[Kata] = []
    own: list[Kata] = []
    for kata, exercise in files.items():
        paths = [name for file in exercise if (name := path_in_git(repo, file)) in changed]
        stubs = {path: past_versions(repo, base, path) for path in paths}
        if any(changed[path] not in stubs[path] for path in paths):
            # Without a stub it is a kata of the learner's own.
            (found if any(stubs.values()) else own).append(kata)
    tests = [
        path
        for kata in found
        if (path := path_in_git(repo, kata.test)) in changed
        if changed[path] not in past_versions(repo, base, path)
    ]
    return Claims(tuple(found), tuple(own), tuple(tests))


def find_differing(repo: Repo, base: str, files: Sequence[Path]) -> dict[str, bytes | None]:
    """Return the contents of the files that differ from `base`, by path; None: it is gone."""
    tree = repo.tree(base)
    blobs = {path: tree[path].blob for file in files if (path := path_in_git(repo, file)) in tree}
    texts = repo.blobs(blobs.values())
    found = {path_in_git(repo, file): with_unix_ends(read_if_there(file)) for file in files}
    theirs = {path: with_unix_ends(texts[blob]) for path, blob in blobs.items()}
    return {path: text for path, text in found.items() if text != theirs.get(path)}


def past_versions(repo: Repo, base: str, path: str) -> set[bytes | None]:
    """Return the contents that a file has had in the history of `base`."""
    history = ("log", "--full-history", "--format=", "--raw", "--no-abbrev", base, "--", path)
    changes = repo.run(*history).decode(errors="replace").splitlines()
    blobs = {blob for line in changes for blob in line.split()[2:4] if blob.strip("0")}
    return {with_unix_ends(text) for text in repo.blobs(blobs).values()}


def first_changed_line(repo: Repo, base: str, path: str) -> int:
    """Return the first line of a file that differs from `base`, or 1."""
    changes = repo.run("diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", path)
    found = HUNK.search(changes)
    return max(int(found[1]), 1) if found else 1


def with_unix_ends(text: bytes | None) -> bytes | None:
    """Return a text with the line ends that it has in the repository."""
    return text and text.replace(b"\r\n", b"\n")


def path_in_git(repo: Repo, file: Path) -> str:
    """Return the path of a file as git writes it."""
    return file.relative_to(repo.root).as_posix()
