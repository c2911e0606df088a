"""A course in a bare repository, and a fork of it in which a learner works; real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING
from typing import ClassVar


if TYPE_CHECKING:
    from pathlib import Path


HEAD = 'title = "T"\n[syllabus]\na = "the first line"\n'
TABLE = """
[[kata]]
name = "{name}"
title = "The title"
kind = "lab"
syllabus = ["a"]
episodes = []
upstream = ["a/b.h: c"]
hints = ["a", "b", "c"]
csrc = {csrc}
"""
STUB = '"""The brief."""\n\n\ndef answer(n):\n    # TODO\n    raise NotImplementedError("answer")\n'
SOLVED = '"""The brief."""\n\n\ndef answer(n):\n    return 2 * n\n'
EXERCISE = "katas/lecture01/k01_first.py"
# Isolates git from the settings of the user who runs the tests.
SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A Learner",
    "GIT_AUTHOR_EMAIL": "learner@example.com",
    "GIT_COMMITTER_NAME": "A Learner",
    "GIT_COMMITTER_EMAIL": "learner@example.com",
}


def git(folder: Path, *arguments: str, data: str = "") -> str:
    """Run git and return what it prints."""
    command = ["git", "-c", "init.defaultBranch=main", *arguments]
    environment = {**os.environ, **SETTINGS}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=data,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


class Fork:
    """The bare repository, a clone in which the course is written, and the learner's clone."""

    # Where each kind is built once, to be copied, which is a fifth of the work. None: not at all.
    templates: ClassVar[Path | None] = None

    def __init__(self, path: Path, *, upstream: bool = True) -> None:
        if self.templates is None:
            self.lie_in(path)
            self.build(upstream=upstream)
            return
        template = self.templates / f"{type(self).__name__}-{upstream}"
        if not template.exists():
            template.mkdir()
            self.lie_in(template)
            self.build(upstream=upstream)
        self.lie_in(path)
        shutil.copytree(template, path, symlinks=True, dirs_exist_ok=True)
        for config in (*path.glob("*/config"), *path.glob("*/.git/config")):
            config.write_text(config.read_text().replace(str(template), str(path)))

    def lie_in(self, path: Path) -> None:
        """Set where the repositories are."""
        self.path, self.bare = path, path / "upstream.git"
        self.authors, self.root = path / "authors", path / "fork"

    def build(self, *, upstream: bool) -> None:
        """Make the repositories."""
        self.bare.mkdir()
        git(self.bare, "init", "--bare")
        git(self.path, "clone", str(self.bare), str(self.authors))
        self.publish({**kata_files("k01_first"), ".gitignore": ".katas/\n"}, "Begin")
        git(self.path, "clone", str(self.bare), str(self.root))
        if upstream:
            git(self.root, "remote", "rename", "origin", "upstream")

    def publish(self, files: dict[str, str | None], message: str = "Go on") -> str:
        """Let the authors change the course; None removes a file."""
        write(self.authors, files)
        return self._commit(self.authors, message, "push", "origin", "HEAD:main")

    def commit(self, files: dict[str, str | None], message: str = "Answer") -> str:
        """Let the learner commit."""
        write(self.root, files)
        return self._commit(self.root, message)

    def _commit(self, folder: Path, message: str, *push: str) -> str:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", message)
        if push:
            git(folder, *push)
        return git(folder, "rev-parse", "HEAD")

    def read(self, path: str = EXERCISE) -> str:
        """Return what the learner's file holds."""
        return (self.root / path).read_bytes().decode()

    def copies(self) -> dict[str, str]:
        """Return the copies of the learner's files, by the paths that they are copies of."""
        folder = self.root / ".katas/backup"
        files = [file for file in folder.rglob("*") if file.is_file()]
        return {
            "/".join(file.relative_to(folder).parts[1:]): file.read_bytes().decode()
            for file in files
        }


def kata_files(name: str, number: int = 1, *, csrc: str = "") -> dict[str, str | None]:
    """Return the files of a kata, and the table of a lecture that has only this one."""
    folder = f"katas/lecture{number:02}"
    files: dict[str, str | None] = {
        f"{folder}/lecture.toml": HEAD + TABLE.format(name=name, csrc=[csrc] if csrc else []),
        f"{folder}/{name}.py": STUB,
        f"{folder}/test_{name}.py": "def test(): pass\n",
        f"{folder}/solutions/{name}.py": SOLVED,
    }
    if csrc:
        files |= {f"{folder}/{csrc}": "// TODO\n", f"{folder}/solutions/{csrc}": "int x;\n"}
    return files


def write(folder: Path, files: dict[str, str | None]) -> None:
    """Write or remove files."""
    for name, text in files.items():
        file = folder / name
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
