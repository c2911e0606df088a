"""What a save or a key means under ``--watch``, decided without a terminal."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins.bookmark import Bookmark
from plugins.bookmark import change_bookmark
from plugins.lectures import read_course
from plugins.orders import Order
from plugins.progress import remember
from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import content_of
from plugins.watchdesk import NONE_OPEN
from plugins.watchdesk import Desk
from plugins.watchview import CLEAR
from plugins.watchview import cleared
from plugins.watchview import end_lines


if TYPE_CHECKING:
    from plugins.layout import Course
    from tests.conftest import MiniCourse


FIRST, SECOND, THIRD = "lecture01/k01_first", "lecture01/k02_second", "lecture02/k03_third"


@pytest.fixture
def read(course: MiniCourse) -> Course:
    """Two lectures with three katas, one of them in C++."""
    course.kata("k01_first")
    course.kata("k02_second", csrc=("csrc/k02_second.cpp",))
    course.kata("k03_third", lecture="lecture02")
    return read_course(sorted(course.katas.glob("lecture*/")))


def desk_of(course: MiniCourse, read: Course, *, moving: bool = False) -> Desk:
    """Return a desk for all katas."""
    katas = [kata for lecture in read.lectures for kata in lecture.katas]
    return Desk(course.path, course.path, read, katas, moving=moving)


def solve(course: MiniCourse, read: Course, name: str) -> None:
    """Let a kata be solved as it is."""
    katas = {kata.id: kata for lecture in read.lectures for kata in lecture.katas}
    run = Results(content_of(katas[name]), {"test": Outcome("passed")}, 1)
    remember(course.path, katas[name], run, 1.0, datetime.now(UTC))


def told(order: object) -> tuple[str, str, str]:
    """Return what an order asks for."""
    assert isinstance(order, Order)
    return order.kind, order.kata.id if order.kata else "", order.why


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["lecture01/k02_second.py"], ("kata", SECOND)),
        (["lecture01/csrc/k02_second.cpp"], ("kata", SECOND)),
        (["lecture02/test_k03_third.py"], ("kata", THIRD)),
        # A formatter writes many: the kata that the learner is at is meant, or the first.
        (["lecture02/k03_third.py", "lecture01/k01_first.py"], ("kata", FIRST)),
        (["lecture02/k03_third.py", "lecture01/k02_second.py"], ("kata", THIRD)),
        # What several katas may use.
        (["lecture01/csrc/tile.h"], ("kata", FIRST)),
        (["lecture02/models.py"], ("kata", FIRST)),
    ],
)
def test_a_save_means_a_kata(
    course: MiniCourse, read: Course, names: list[str], expected: tuple[str, str]
) -> None:
    """Its exercise, its source, its tests; a file that is nobody's means the one at hand."""
    order = desk_of(course, read).saved([course.katas / name for name in names])
    saved = names[0] if expected[1] != FIRST else names[-1]

    assert (*expected, f"saved   katas/{saved}") == told(order)


@pytest.mark.parametrize(
    "name",
    ["lecture01/solutions/k01_first.py", "lecture01/README.md", "lecture01/k01_first.py~", "x.py"],
)
def test_other_files_mean_nothing(course: MiniCourse, read: Course, name: str) -> None:
    """The reference, prose, copies of an editor, what is outside of the lectures."""
    assert desk_of(course, read).saved([course.katas / name]) is None


def test_it_begins_with_the_first_that_is_open(course: MiniCourse, read: Course) -> None:
    """As it is now; with all of them solved, with the first."""
    first = told(desk_of(course, read).first(skipping=False))
    solve(course, read, FIRST)
    second = told(desk_of(course, read).first(skipping=False))
    solve(course, read, SECOND)
    solve(course, read, THIRD)
    desk = desk_of(course, read)

    assert ("kata", FIRST, "") == first
    assert ("kata", SECOND, "") == second
    assert ("kata", FIRST, "") == told(desk.first(skipping=False))
    assert [NONE_OPEN] == desk.pressed("n")


def test_the_next_kata_is_the_next_that_is_open(course: MiniCourse, read: Course) -> None:
    """After the one at hand, and after the last one the first again."""
    desk = desk_of(course, read)
    solve(course, read, SECOND)
    found = [told(desk.pressed("n"))[1] for _ in range(3)]

    assert [THIRD, FIRST, THIRD] == found


def test_keys_are_about_the_kata_at_hand(course: MiniCourse, read: Course) -> None:
    """The solution is that of the kata that was saved last, if it is solved."""
    desk = desk_of(course, read)
    desk.saved([course.katas / "lecture01/k02_second.py"])
    desk.ran()
    before, passed = told(desk.pressed("s")), desk.passed
    solve(course, read, SECOND)
    desk.ran()

    assert passed is None
    assert ("solution", SECOND, "") == before == told(desk.pressed("s"))
    assert ("hint", SECOND, "") == told(desk.pressed("h"))
    assert ("kata", SECOND, "") == told(desk.pressed("r"))
    assert desk.passed
    assert desk.pressed("x") is None


def test_next_says_which_kata_is_at_hand(course: MiniCourse, read: Course) -> None:
    """With ``--next``, as it has shown last; a save of another one is judged in its turn."""
    desk = desk_of(course, read, moving=True)
    nothing_shown = told(desk.pressed("n"))
    change_bookmark(course.path, lambda _: Bookmark(SECOND))
    order = desk.saved([course.katas / "lecture01/k01_first.py"])
    solve(course, read, FIRST)
    desk.ran()

    assert ("next", "", "") == nothing_shown
    assert ("next", "", "saved   katas/lecture01/k01_first.py") == told(order)
    assert ("hint", SECOND, "") == told(desk.pressed("h"))
    assert ("solution", FIRST, "") == told(desk.pressed("s"))
    assert ("skip", "", "") == told(desk.pressed("n")) == told(desk.first(skipping=True))


def test_the_list_has_the_katas_of_one_lecture(course: MiniCourse, read: Course) -> None:
    """That of the kata at hand, and the other lectures in a line each."""
    lines = desk_of(course, read).pressed("l")

    assert isinstance(lines, list)
    assert ["> lecture01", "  > k01_first", "    k02_second", "  lecture02"] == [
        line[: 2 + line[2:].rindex("  The title")].rstrip() for line in lines
    ]
    assert [] == [line for line in lines if len(line) > 80]


@pytest.mark.parametrize(
    ("environment", "text"),
    [({"TERM": "xterm"}, CLEAR), ({"TERM": "dumb"}, "\n"), ({"TERM": ""}, "\n"), ({}, "\n")],
)
def test_a_terminal_that_cannot_be_cleared_scrolls(environment: dict[str, str], text: str) -> None:
    """No control sequence is shown to a person."""
    assert text == cleared(environment)


def test_a_run_that_was_killed_is_named() -> None:
    """What ended by itself has said what there is to say."""
    assert ["The run was ended by SIGKILL."] == list(end_lines(-9))
    assert [] == list(end_lines(1))
