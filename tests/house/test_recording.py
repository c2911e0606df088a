"""The recording of a session in a terminal, as a self-contained SVG."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from plugins import ROOT
from tests import recording
from tests.recording import Picture
from tests.recording import Step
from tests.recording import copied
from tests.recording import played
from tests.recording import svg_of
from tests.recording import tour
from tests.support.threekatas import PLUGINS
from tests.support.threekatas import RIGHT
from tests.support.threekatas import STUB
from tests.support.threekatas import TEST


if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.conftest import MiniCourse


SVG = "{http://www.w3.org/2000/svg}"


def lines_of(group: ET.Element) -> list[str]:
    """Return the lines of text of one picture."""
    return ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]


def test_a_session_becomes_a_film(course: MiniCourse) -> None:
    """One picture for each step, with the text of the screen in its colours."""
    course.plugins(*PLUGINS, "plugins.loop.watch")
    course.write("site/torch/__init__.py", "")
    course.path_first(course.path / "site")
    for name in ("k01_first", "k02_second"):
        course.kata(name, TEST.format(lecture="lecture01", name=name), stub=STUB)
    steps = [
        Step("$ pytest katas --watch --next"),
        Step("press h & read", "h"),
        Step("save", act=lambda: course.write("katas/lecture01/k01_first.py", RIGHT)),
    ]

    pictures = played(course.path, ["katas", "--watch", "--next"], steps, os.environ["PYTHONPATH"])
    film = svg_of(pictures)
    groups = ET.fromstring(film).findall(f"{SVG}g")  # noqa: S314 - ours

    assert [step.caption for step in steps] == [lines_of(group)[0] for group in groups]
    first, second, third = ("\n".join(lines_of(group)) for group in groups)
    assert "\nNotImplementedError: answer\n" in first
    assert "\nHint 1 of 3: the first hint" in second
    assert "\nlecture01/k01_first is solved: The title of k01_first\n" in third
    assert third.endswith("\nn next  h hint  s solution  l list  r rerun  q quit")
    assert '<tspan class="red">NotImplementedError: answer</tspan>' in film


def test_it_needs_nothing_and_respects_the_reader() -> None:
    """No script, no other file; dark where the reader wants it; still where motion is unwelcome."""
    film = svg_of([Picture("one <&>", [[("a  <b>", "green")]]), Picture("two", [[]])])
    root = ET.fromstring(film)  # noqa: S314 - ours

    names = {element.tag.removeprefix(SVG) for element in root.iter() if element is not root}

    assert {"title", "desc", "style", "rect", "g", "text", "tspan"} == names
    assert "prefers-color-scheme: dark" in film
    assert "prefers-reduced-motion: reduce" in film
    assert [] == re.findall(r"url\(|href|@import", film)
    assert ["one <&>", "a  <b>"] == lines_of(root.findall(f"{SVG}g")[0])


def test_the_tour_is_of_a_kata_that_is_there(tmp_path: Path) -> None:
    """The first answer differs from the second one: the kata rejects it."""
    steps = tour(copied(tmp_path))
    exercise = tmp_path / "katas/lecture02/k01_bytes.py"
    texts = [exercise.read_text()]
    for step in steps:
        step.act()
        texts.append(exercise.read_text())

    assert [1, 1, 1, 2, 3, 3] == [len(set(texts[: number + 1])) for number in range(6)]


def test_the_command_writes_the_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the file that it is given."""
    monkeypatch.setattr(recording, "played", lambda *_: [Picture("one", [[("text", "")]])])
    monkeypatch.setattr(sys, "argv", ["recording", str(tmp_path / "docs/film.svg")])

    recording.main()

    assert "one" in (tmp_path / "docs/film.svg").read_text(encoding="utf-8")


def test_the_film_in_the_readme_is_one() -> None:
    """It is small, and goes through the loop: a failure, a hint, a kata that is solved."""
    film = (ROOT / "docs/tour.svg").read_text(encoding="utf-8")
    groups = ET.fromstring(film).findall(f"{SVG}g")  # noqa: S314 - ours
    first, hint, wrong, right, following = ("\n".join(lines_of(group)) for group in groups)

    assert len(film) < 64 * 1024
    assert "(docs/tour.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "NotImplementedError" in first
    assert "Hint 1 of 3" in hint
    assert "yours b'" in wrong
    assert "learned Strides and an offset" in right
    assert "lecture02/k02_strides: " in following
