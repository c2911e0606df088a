"""Reads the parts of the course, with all their lectures: also those not written yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path


FILE = "syllabus.toml"
OTHERS = "More lectures"


@dataclass(frozen=True)
class Part:
    """A part of the course: its lectures in teaching order, short titles by name."""

    title: str
    lectures: Mapping[str, str]


def read_syllabus(file: Path) -> tuple[Part, ...]:
    """Read the parts of the course; there are none without the file.

    Raises
    ------
    TomlError
        If the file is not TOML, lacks a key or holds an unexpected value.
    """
    if not file.exists():
        return ()
    table = read_toml(file)
    parts = []
    for number, entry in enumerate(table.tables("part"), 1):
        part = entry.at(f"part {number}")
        parts.append(Part(part.string("title"), part.strings_by_name("lectures")))
        part.refuse_others()
    table.refuse_others()
    return tuple(parts)


def with_others(parts: Iterable[Part], lectures: Mapping[str, str]) -> list[Part]:
    """Return the parts, and one more for any lectures that are in none of them."""
    parts = list(parts)
    planned = {name for part in parts for name in part.lectures}
    others = {name: title for name, title in lectures.items() if name not in planned}
    return [*parts, Part(OTHERS, others)] if others else parts
