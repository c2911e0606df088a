"""The parts of the course, with the lectures that ``syllabus.toml`` names and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.syllabus import FILE
from plugins.course.syllabus import OTHERS
from plugins.course.syllabus import Part
from plugins.course.syllabus import read_syllabus
from plugins.course.syllabus import with_others
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from pathlib import Path


PART = Part("One", {"lecture01": "First"})


def test_the_syllabus_holds_the_lectures_of_the_course() -> None:
    """Twenty-eight, in order, in three parts."""
    parts = read_syllabus(ROOT / FILE)
    names = [name for part in parts for name in part.lectures]

    assert 3 == len(parts)
    assert [f"lecture{number:02}" for number in range(1, 29)] == names
    assert {folder.name for folder in (ROOT / "katas").glob("lecture*/")} <= set(names)


def test_a_course_without_the_file_has_no_parts(tmp_path: Path) -> None:
    """Its lectures are shown anyway."""
    assert () == read_syllabus(tmp_path / FILE)
    assert [Part(OTHERS, {"lecture09": "T"})] == with_others((), {"lecture09": "T"})


def test_lectures_that_stand_in_no_part_come_last() -> None:
    """And there is no such part without them."""
    assert [PART, Part(OTHERS, {"x": "T"})] == with_others([PART], {"x": "T", "lecture01": "U"})
    assert [PART] == with_others([PART], {"lecture01": "U"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[part]]\ntitle = 'x'", "part 1: lectures: expected a table of strings, found nothing"),
        ("[[part]]\ntitle = 'x'\nlecture = 1\n[part.lectures]\n", "part 1: lecture: expected one"),
        ("", "part: expected an array of tables, found nothing"),
        ("part = []\nparts = []", "parts: expected one of part"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """With the place in the file."""
    (tmp_path / FILE).write_text(text)

    with pytest.raises(TomlError, match=f"{FILE}: {message}"):
        read_syllabus(tmp_path / FILE)
