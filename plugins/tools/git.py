"""Runs the git commands that plugins/fork needs; it makes no decisions."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path


# A git hook or alias sets these, and they may name another repository.
FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")


class GitError(Exception):
    """A git command failed; the message quotes git."""


@dataclass(frozen=True)
class GitEntry:
    """A file in a tree or in the index: its mode and the name of its blob."""

    mode: str
    blob: str


@dataclass(frozen=True)
class Repo:
    """A working tree; all paths are relative to its root."""

    root: Path

    def run(self, *arguments: str, data: bytes = b"", index: Path | None = None) -> bytes:
        """Run a git command and return its output.

        Raises
        ------
        GitError
            If the command fails.
        """
        environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        if index:
            environment["GIT_INDEX_FILE"] = str(index)
        done = subprocess.run(  # noqa: S603 - git
            ["git", *arguments],  # noqa: S607 - wherever it is installed
            cwd=self.root,
            env={**environment, "LC_ALL": "C"},
            input=data,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            message = done.stderr.decode(errors="replace").strip()
            raise GitError(f"git {arguments[0]}: {message or f'status {done.returncode}'}")
        return done.stdout

    def line(self, *arguments: str) -> str:
        """Run a git command and return the one line it prints, or "" if it fails."""
        try:
            return self.run(*arguments).decode().strip()
        except GitError:
            return ""

    def commit(self, name: str) -> str:
        """Return the commit that `name` stands for, or "" if there is none."""
        return self.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def git_path(self, name: str) -> Path:
        """Return the path of one of git's own files, in a linked working tree too."""
        return self.root / self.line("rev-parse", "--git-path", name)

    def blob(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit, or None if it is not there."""
        try:
            return self.run("cat-file", "blob", f"{commit}:./{path}")
        except GitError:
            return None

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of many blobs by name, with one process."""
        wanted = list(dict.fromkeys(names))
        text = self.run("cat-file", "--batch", data="\n".join(wanted).encode())
        found: dict[str, bytes] = {}
        for name in wanted:
            head, _, text = text.partition(b"\n")
            size = int(head.split()[2])
            found[name], text = text[:size], text[size + 1 :]
        return found

    def tree(self, commit: str) -> dict[str, GitEntry]:
        """Return the files of a commit by path."""
        return parse_listing(self.run("ls-tree", "-r", "-z", "--full-tree", commit), blob=2)

    def staged(self) -> dict[str, GitEntry]:
        """Return the files of the index by path."""
        return parse_listing(self.run("ls-files", "--stage", "-z"), blob=1)

    def add_blob(self, content: bytes) -> str:
        """Store `content` as a blob in the repository and return its name."""
        return self.run("hash-object", "-w", "--stdin", data=content).decode().strip()

    def change_index(self, index: Path, changes: Mapping[str, GitEntry | None]) -> None:
        """Set entries of an index, and remove those that are None."""
        gone = "0" * 40
        lines = [
            f"{entry.mode} {entry.blob}\t{path}\0" if entry else f"0 {gone}\t{path}\0"
            for path, entry in changes.items()
        ]
        self.run("update-index", "-z", "--index-info", data="".join(lines).encode(), index=index)


def parse_listing(listing: bytes, blob: int) -> dict[str, GitEntry]:
    """Parse a NUL-separated listing in which word `blob`, counted from 0, names the blob."""
    found = {}
    for line in listing.decode(errors="surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        words = head.split()
        found[path] = GitEntry(words[0], words[blob])
    return found
