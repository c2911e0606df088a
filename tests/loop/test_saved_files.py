"""Which kata a saved file means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.course.lectures import read_course
from plugins.loop.saved_files import SavedFiles


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_a_file_belongs_to_a_kata_to_its_lecture_or_to_another(course: MiniCourse) -> None:
    """And the line above the output says whether it was saved or removed."""
    course.kata("k01_first")
    course.kata("k03_third", lecture="lecture02")
    read = read_course(sorted(course.katas.glob("lecture*/")))
    files = SavedFiles(read, read.lectures[0].katas, course.path)
    own, other = course.katas / "lecture01/k01_first.py", course.katas / "lecture02/k03_third.py"

    assert {"lecture01/k01_first": (read.katas[0], own)} == files.owned([own, other])
    assert "lecture02/k03_third" == files.others[other]
    assert files.is_shared(course.katas / "lecture01/tile.h")
    assert not files.is_shared(course.katas / "lecture01/solutions/tile.h")
    assert not files.is_shared(course.katas / "lecture02/tile.h")
    assert "saved   katas/lecture01/k01_first.py" == files.describe(own)
    own.unlink()
    assert "removed katas/lecture01/k01_first.py" == files.describe(own)
