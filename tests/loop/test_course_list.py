"""The list of katas that one can move in, and the key that puts a stub back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.lectures import read_course
from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.loop import course_list
from plugins.loop.course_list import CourseList
from plugins.loop.course_list import Restorer
from plugins.loop.course_list import format_list
from plugins.loop.course_list import reset_kata
from plugins.progress.map import Place
from plugins.progress.map import places_of
from plugins.progress.standing import Standing


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


@pytest.fixture
def many(course: MiniCourse) -> Course:
    """Three lectures of nine katas."""
    for lecture in ("lecture01", "lecture02", "lecture03"):
        for number in range(1, 10):
            course.kata(f"k0{number}_it", lecture=lecture)
    return read_course(sorted(course.katas.glob("lecture*/")))


def list_of(course: MiniCourse, many: Course) -> CourseList:
    """Return the list, at the first kata."""
    return CourseList(many.lectures, places_of(course.path, many), many.katas[0])


def test_the_mark_moves_by_katas_and_by_lectures(course: MiniCourse, many: Course) -> None:
    """From one lecture into the next, and not past the ends; other keys do not move it."""
    found = list_of(course, many)
    went = []
    for key in ("k", "j", "\x1b[B", "\x1b[C", "\x1bOC", "\x1b[C", "\x1b[A", "\x1b[D"):
        assert found.move(key)
        went.append(found.kata.id.replace("lecture0", "").replace("_it", ""))

    assert "1/k01 1/k02 1/k03 2/k01 3/k01 3/k01 2/k09 1/k01" == " ".join(went)
    assert not found.move("h")


def test_as_much_is_shown_as_there_is_room(course: MiniCourse, many: Course) -> None:
    """Around the mark; the katas are those of its lecture."""
    found = list_of(course, many)
    whole = found.lines(100)
    first = found.lines(5)
    for _ in range(20):
        found.move("j")
    later = found.lines(5)

    assert 3 + 9 == len(whole)
    assert whole[:5] == first
    assert ["lecture02", "lecture03"] == [line.split()[0] for line in whole[-2:]]
    assert 5 == len(later)
    assert [line for line in later if line.startswith("  > k03_it ")]


def test_the_only_lecture_has_its_katas_listed(tmp_path: Path) -> None:
    """Though the learner is at none of them; of two lectures, one line each."""
    kata = Kata("lecture01", "k01_a", "T", "lab", (), (), (), (), (), (), (), tmp_path)
    places = [Place(kata, "new", Standing())]
    first = Lecture("lecture01", "First", {}, (kata,), tmp_path)
    second = Lecture("lecture02", "Second", {}, (), tmp_path)

    assert ["lecture01", "k01_a"] == [
        line.split()[0] for line in format_list([first], places, None, blocks=False)
    ]
    assert ["lecture01", "lecture02"] == [
        line.split()[0] for line in format_list([first, second], places, None, blocks=False)
    ]


def test_the_time_of_a_lecture_is_one_number(tmp_path: Path) -> None:
    """The sum below its katas is of what they took, not of the minutes to which that is rounded."""
    katas = [
        Kata("lecture01", f"k0{n}_a", "T", "lab", (), (), (), (), (), (), (), tmp_path)
        for n in range(1, 7)
    ]
    places = [Place(kata, "solved", Standing(seconds=25.0)) for kata in katas]
    lecture = Lecture("lecture01", "First", {}, tuple(katas), tmp_path)
    lines = [*format_list([lecture], places, None, blocks=False)]

    assert all(line.endswith("  0 min") for line in lines[1:-1])
    assert "in all 2 min" == lines[-1].strip()
    assert len(lines[1]) == len(lines[-1])


def test_a_stub_is_put_back_when_the_key_came_twice(
    course: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the same kata; then the save says what happened, until the file is edited."""
    course.kata()
    course.kata("k02_second")
    one, two = read_course([course.katas / "lecture01"]).katas
    asked: list[str] = []

    def reset(_: object, kata: Kata) -> tuple[bool, list[str]]:
        asked.append(kata.id)
        return kata is one, ["it is the stub again", "your version  here"]

    monkeypatch.setattr(course_list, "reset_kata", reset)
    restorer = Restorer(course.path)
    first = restorer.press(one)
    other = restorer.press(two)
    refused = restorer.press(two)
    restorer.press(one)
    done = restorer.press(one)

    assert "Press x again to put the stub of lecture01/k01_first back." == first[0]
    assert "Press x again to put the stub of lecture01/k02_second back." == other[0]
    assert ["it is the stub again", "your version  here"] == refused == done
    assert [two.id, one.id] == asked
    assert "" == restorer.said(two)
    assert "it is the stub again\nyour version  here" == restorer.said(one)
    one.exercise.write_text("edited = 1\n")
    assert "" == restorer.said(one)


def test_the_command_resets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the course; what it prints is what there is to say."""
    ran: list[Any] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        ran.append((command[1:], options["cwd"]))
        return subprocess.CompletedProcess(command, len(ran) - 1, "done\n", "or why not\n")

    monkeypatch.setattr(subprocess, "run", run)
    kata = Kata("lecture01", "k01_a", "T", "lab", (), (), (), (), (), (), (), tmp_path)

    assert (True, ["done", "or why not"]) == reset_kata(tmp_path, kata)
    assert (False, ["done", "or why not"]) == reset_kata(tmp_path, kata)
    assert [(["-m", "plugins.reset", "lecture01/k01_a"], tmp_path)] * 2 == ran
