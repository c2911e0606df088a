"""Finds the lectures, katas and answers on disk that the gate checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.lectures import read_course
from plugins.course.model import Course
from plugins.course.names import lecture_folders
from plugins.course.session import read_whole_course


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.course.model import Lecture


@dataclass(frozen=True)
class Gate:
    """A course under test: its root folder and its lectures."""

    root: Path
    course: Course

    @property
    def tests(self) -> Path:
        """The folder of wrong and right answers."""
        return self.root / "tests"

    @property
    def katas(self) -> tuple[Kata, ...]:
        """Every kata of every lecture, in order."""
        return self.course.katas

    def name_of(self, path: Path) -> str:
        """Return a file as messages and runs name it: from the root, whole if elsewhere."""
        return (path.relative_to(self.root) if path.is_relative_to(self.root) else path).as_posix()

    def sorted(self, place: Callable[[Lecture], object]) -> Gate:
        """Return the gate with its lectures in another order."""
        lectures = sorted(self.course.lectures, key=place)  # type: ignore[arg-type]
        return Gate(self.root, Course(tuple(lectures), self.course.errors))

    def chosen(self, lectures: tuple[str, ...], names: tuple[str, ...]) -> tuple[Kata, ...]:
        """Return the katas of these lectures, only these names or numbers if any are given."""
        katas = [kata for kata in self.katas if not lectures or kata.lecture in lectures]
        return tuple(
            kata for kata in katas if not names or {kata.name, kata.name.split("_")[0]} & set(names)
        )

    def right(self, kata: Kata) -> list[Path]:
        """Return the alternative solutions: ``kNN_name.py``, ``kNN_name.loops.py``, folders."""
        folder = kata.meta / "right"
        found = sorted(folder.glob(f"{kata.name}*")) if folder.is_dir() else []
        return [path for path in found if path.name.split(".")[0] == kata.name]


def read_gate(root: Path, lecture: str = "all") -> Gate:
    """Read the course in `root`; for a lecture that is not in it, with those of packages."""
    folders = lecture_folders(root)
    if lecture == "all" or lecture in {folder.name for folder in folders}:
        return Gate(root, read_course(folders))
    return Gate(root, read_whole_course(root) or Course((), ()))


def package_of(folder: Path) -> str:
    """Return the module that a lecture's folder is: katas.lecture04, or that of another package."""
    names = [folder.name]
    while ((folder := folder.parent) / "__init__.py").is_file():
        names.insert(0, folder.name)
    return ".".join(names)


def solution_files(kata: Kata) -> list[str]:
    """Return the files the learner edits, by their path in the lecture folder."""
    files = [f"{kata.name}.py", *kata.csrc]
    return [file for file in files if (kata.folder / "solutions" / file).is_file()]


def solution_text(kata: Kata, file: str) -> str:
    """Return a solution's text."""
    return (kata.folder / "solutions" / file).read_text(encoding="utf-8")


def stub_text(kata: Kata, file: str) -> str:
    """Return the text of a stub, empty if the learner creates the file."""
    path = kata.folder / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""
