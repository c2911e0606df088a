"""The few commands of git that ``reset`` and ``update`` need; they decide nothing."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path


# A hook or an alias of git sets these for another repository.
FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")


class GitError(Exception):
    """Git refused; the message is what it said."""


@dataclass(frozen=True)
class Entry:
    """A file in a tree or in the index: its mode and its blob."""

    mode: str
    blob: str


@dataclass(frozen=True)
class Repo:
    """A working tree; all paths are relative to its root."""

    root: Path

    def run(self, *arguments: str, data: bytes = b"", index: Path | None = None) -> bytes:
        """Return what a command of git prints.

        Raises
        ------
        GitError
            If it fails.
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
            said = done.stderr.decode(errors="replace").strip()
            raise GitError(f"git {arguments[0]}: {said or f'status {done.returncode}'}")
        return done.stdout

    def line(self, *arguments: str) -> str:
        """Return the one line that a command prints; "" if it fails."""
        try:
            return self.run(*arguments).decode().strip()
        except GitError:
            return ""

    def commit(self, name: str) -> str:
        """Return the commit that a name stands for, or ""."""
        return self.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def git_path(self, name: str) -> Path:
        """Return where git keeps a file of its own, in a linked working tree too."""
        return self.root / self.line("rev-parse", "--git-path", name)

    def blob(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit."""
        try:
            return self.run("cat-file", "blob", f"{commit}:./{path}")
        except GitError:
            return None

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of many blobs, with one process."""
        wanted = list(dict.fromkeys(names))
        text = self.run("cat-file", "--batch", data="\n".join(wanted).encode())
        found: dict[str, bytes] = {}
        for name in wanted:
            head, _, text = text.partition(b"\n")
            size = int(head.split()[2])
            found[name], text = text[:size], text[size + 1 :]
        return found

    def tree(self, commit: str) -> dict[str, Entry]:
        """Return the files of a commit by their paths."""
        return entries(self.run("ls-tree", "-r", "-z", "--full-tree", commit), blob=2)

    def staged(self) -> dict[str, Entry]:
        """Return the files of the index by their paths."""
        return entries(self.run("ls-files", "--stage", "-z"), blob=1)

    def add_blob(self, content: bytes) -> str:
        """Keep a content in the repository and return its name."""
        return self.run("hash-object", "-w", "--stdin", data=content).decode().strip()

    def change_index(self, index: Path, changes: Mapping[str, Entry | None]) -> None:
        """Set or remove entries of an index."""
        gone = "0" * 40
        lines = [
            f"{entry.mode} {entry.blob}\t{path}\0" if entry else f"0 {gone}\t{path}\0"
            for path, entry in changes.items()
        ]
        self.run("update-index", "-z", "--index-info", data="".join(lines).encode(), index=index)


def entries(listing: bytes, blob: int) -> dict[str, Entry]:
    """Read a listing of git's, in which the blob's name is the word number `blob`."""
    found = {}
    for line in listing.decode(errors="surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        words = head.split()
        found[path] = Entry(words[0], words[blob])
    return found
