"""What ``--next`` says of a lecture: its README, its picture, its places to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.loop.lecture import lecture_lines


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


def told(folder: Path, start: Path) -> dict[str, list[str]]:
    """Return what is said of a lecture at each of its katas, if anything is."""
    katas = read_course([folder]).lectures[0].katas
    said = {kata.name.partition("_")[0]: lecture_lines(kata, katas, start) for kata in katas}
    return {name: lines for name, lines in said.items() if lines}


def test_the_readme_is_named_at_the_first_kata(course: MiniCourse) -> None:
    """With its picture, if it has one; a lecture without a README has nothing to read."""
    course.kata()
    course.kata("k02_second")
    folder = course.katas / "lecture01"
    none = told(folder, course.path)
    course.write("katas/lecture01/README.md", "# One\n")
    plain = told(folder, folder)
    course.write("katas/lecture01/README.md", "# One\n\n![A picture](it.svg)\n")

    assert {} == none
    assert {"k01": ["lecture README.md"]} == plain
    assert {"k01": ["lecture katas/lecture01/README.md, with a picture"]} == told(
        folder, course.path
    )


def test_places_to_stop_are_named_when_they_come() -> None:
    """Those of lecture 02: all at its first kata, and each at the kata after it."""
    said = told(ROOT / "katas/lecture02", ROOT)

    assert ["k01", "k07", "k11", "k15", "k20"] == [*said]
    assert "stop    good places to stop: after k06, k10, k14 and k19" == said["k01"][1]
    assert said["k07"][0].startswith("stop    k06_")
    assert said["k07"][0].endswith(" was a good place to stop for the day")
    assert max(len(line) for lines in said.values() for line in lines) <= 80
