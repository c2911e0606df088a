"""``nox -s reset -- lecture04/k03_clamp``: the stub of a kata again, and a copy of the answer.

    python -m plugins.reset lecture04/k03_clamp [--from COMMIT]

The stub comes from the history of the repository, so that a fork with committed answers has it
too. Only the exercise's own files are written; what is staged stays staged.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.copies import keep_copy
from plugins.gitrepo import GitError
from plugins.gitrepo import Repo
from plugins.lectures import read_course
from plugins.names import UnknownNameError
from plugins.names import katas_named
from plugins.standing import learners_files
from plugins.upstreams import HOW
from plugins.upstreams import is_stub
from plugins.upstreams import stub_commits
from plugins.upstreams import upstream_of
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.layout import Course
    from plugins.layout import Kata


NO_STUB = "{kata}: no commit of this repository holds its stub.\nFetch the course: {how}"


class RefusedError(Exception):
    """Nothing was changed; the message says why."""


@dataclass(frozen=True)
class Change:
    """A file, what it holds (None: it is not there), and the stub that shall take its place."""

    path: str
    mine: bytes | None
    stub: bytes


def changes(mine: Mapping[str, bytes | None], stubs: Mapping[str, bytes | None]) -> list[Change]:
    """Return which files are to be written; one that is the stub already is left alone."""
    return [
        Change(path, mine.get(path), stub)
        for path, stub in stubs.items()
        if stub is not None and stub != mine.get(path)
    ]


def the_kata(course: Course, name: str) -> Kata:
    """Return the one kata called so."""
    try:
        katas = katas_named(course, name)
    except UnknownNameError as error:
        raise RefusedError(str(error)) from None
    if len(katas) != 1:
        names = " ".join(kata.id for kata in katas) or "none"
        raise RefusedError(f"{name} has {len(katas)} katas; name one of them: {names}")
    return katas[0]


def stubs_of(repo: Repo, kata: Kata, commit: str) -> tuple[str, dict[str, bytes | None]]:
    """Return the stub's files and the commit that they are from; `commit` is what was asked for."""
    paths = [file.relative_to(repo.root).as_posix() for file in learners_files(kata)]
    exercise = kata.exercise.relative_to(repo.root).as_posix()
    if commit and not repo.commit(commit):
        raise RefusedError(f"--from: there is no commit {commit}")
    commits = [commit] if commit else stub_commits(repo, upstream_of(repo))
    for name in commits:
        text = repo.blob(name, exercise)
        if text is not None and (commit or is_stub(text)):
            return name, {path: repo.blob(name, path) for path in paths}
    if commit:
        raise RefusedError(f"--from: {commit} has no {exercise}")
    raise RefusedError(NO_STUB.format(kata=kata.id, how=HOW))


def reset(root: Path, name: str, commit: str = "") -> list[str]:
    """Restore the stub of a kata and return what was done, line by line."""
    repo = Repo(root)
    if not repo.line("rev-parse", "--git-dir"):
        raise RefusedError("The stub comes from the history of git, and this is no repository.")
    kata = the_kata(read_course(sorted((root / "katas").glob("lecture*/"))), name)
    found, stubs = stubs_of(repo, kata, commit)
    mine = {path: content(root / path) for path in stubs}
    wanted = changes(mine, stubs)
    as_of = repo.line("show", "--no-patch", "--format=%h of %as", found)
    if not wanted:
        return [f"{kata.id} is the stub already, as of {as_of}; nothing was changed."]
    said = []
    for change in wanted:
        if change.mine is not None:
            copy = keep_copy(root, change.path, change.mine, datetime.now().astimezone())
            said.append(f"your version  {copy}")
        write_whole(root / change.path, change.stub, state(root))
        said.append(f"the stub      {change.path}")
    return [f"{kata.id} is the stub again, as of {as_of}.", *said]


def state(root: Path) -> Path:
    """Return the folder for files that are half written; it exists."""
    folder = root / ".katas"
    folder.mkdir(exist_ok=True)
    return folder


def content(file: Path) -> bytes | None:
    """Return what a file holds; None if it is not there."""
    return file.read_bytes() if file.is_file() else None


def main(arguments: Sequence[str], root: Path) -> int:
    """Do what the command line asks for; return its status."""
    parser = argparse.ArgumentParser(prog="reset", description="Restore the stub of a kata.")
    parser.add_argument("kata", help="such as lecture04/k03_clamp, or the path of one of its files")
    parser.add_argument("--from", dest="commit", default="", help="the commit that has the stub")
    options = parser.parse_args(arguments)
    try:
        said = reset(root, options.kata, options.commit)
    except (RefusedError, GitError) as error:
        sys.stderr.write(f"{error}\nNothing was changed.\n")
        return 1
    sys.stdout.write("\n".join([*said, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
