"""Paths through the course, which ``katas/paths.toml`` names; no pytest, no torch.

A path is some of the katas, in teaching order: for those who come for one thing and have twenty
hours for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.course.names import KATAS
from plugins.course.names import UnknownNameError
from plugins.course.names import describe_unknown
from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata


FILE = "paths.toml"


@dataclass(frozen=True)
class CoursePath:
    """Some katas of the course, in teaching order; `about` says in a sentence for whom."""

    name: str
    title: str
    about: str
    katas: tuple[Kata, ...]

    @property
    def minutes(self) -> int:
        """About how long its katas take."""
        return sum(kata.minutes for kata in self.katas)


def read_paths(course: Course, root: Path) -> list[CoursePath]:
    """Return the paths of the course in `root`; none if it has no file of them.

    Raises
    ------
    TomlError
        If the file cannot be read, or a path names a kata that the course does not have, names
        one twice, or leaves the teaching order.
    """
    file = root / KATAS / FILE
    if not file.is_file():
        return []
    katas = {kata.id: kata for kata in course.katas}
    order = list(katas)
    found = []
    table = read_toml(file)
    for nameless in table.tables("path"):
        name = nameless.string("name")
        entry = nameless.at(f"path {name}")
        ids = entry.strings("katas")
        for each in ids:
            if each not in katas:
                raise entry.error("katas", describe_unknown("kata", each, order))
        if list(ids) != [each for each in order if each in ids]:
            raise entry.error("katas", "expected each once, in the order of the course")
        chosen = tuple(katas[each] for each in ids)
        found.append(CoursePath(name, entry.string("title"), entry.string("about"), chosen))
        entry.refuse_others()
    table.refuse_others()
    return found


def path_named(name: str, paths: list[CoursePath]) -> CoursePath:
    """Return the path that is called `name`.

    Raises
    ------
    UnknownNameError
        If none is; the message has the names of those that are.
    """
    for path in paths:
        if path.name == name:
            return path
    if not paths:
        raise UnknownNameError(f"no path is called {name!r}: katas/{FILE} is missing")
    raise UnknownNameError(describe_unknown("path", name, [path.name for path in paths]))
