"""What the page says of a course, a lecture and a kata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.reading import Pointer
from plugins.standing import Outcome
from plugins.syllabus import OTHERS
from tests.pages import PASSED
from tests.pages import a_page
from tests.pages import a_place
from tests.pages import an_episode
from tests.pages import everything


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.coursemap import Place
    from plugins.pagedata import Told


def told(place: Place) -> Told:
    """Return what is said of one kata."""
    return a_page(place).stops[0].katas[0]


def test_the_numbers_of_the_course() -> None:
    """Katas by state, time, hints, days, where to go on, what could not run."""
    page = everything()

    assert {"solved": 1, "failing": 2, "open": 1, "new": 1, "unavailable": 1} == page.counts
    assert ("8 min", 2) == (page.time, page.hints)
    assert [1] == [count for _, count in page.days]
    assert page.next
    assert "lecture01/k02_second" == page.next.kata.id
    assert {"cuda: this machine has no GPU": 1} == page.missing


def test_lectures_stand_in_their_parts() -> None:
    """Those that are not written too; one that no part has comes after them."""
    page = a_page(a_place("k01_a", lecture="lecture02"), a_place("k01_b", lecture="extra"))

    assert ["Internals", OTHERS] == [title for title, _ in page.parts]
    assert [("1", False, 0), ("2", True, 1), ("3", False, 0)] == [
        (stop.number, bool(stop.lecture), len(stop.katas)) for stop in page.parts[0][1]
    ]
    assert ["2", "extra"] == [stop.number for stop in page.stops]


def test_a_kata_says_why_it_fails_and_what_cannot_run() -> None:
    """Each reason once."""
    away = Outcome("skipped", "no GPU")
    tests = {"a": PASSED, "b": Outcome("failed", "why"), "c[1]": away, "c[2]": away}
    kata = told(a_place("k01_a", "failing", tests=tests))

    assert ((("b", "why"),), ("no GPU",)) == (kata.failures, kata.reasons)
    assert ("1 of 2 tests pass", "2 min") == (kata.tests, kata.time)


def test_a_module_that_cannot_be_imported_is_named() -> None:
    """Among the tests it has no name."""
    kata = told(a_place("k01_a", "failing", tests={"": Outcome("failed", "SyntaxError")}))

    assert (("test_k01_a.py cannot be imported", "SyntaxError"),) == kata.failures


@pytest.mark.parametrize(
    ("tests", "text"),
    [({}, ""), ({"a": PASSED}, "1 of 1 test passes"), ({"a": Outcome("skipped", "x")}, "")],
)
def test_tests_are_counted_if_they_ran(tests: dict[str, Outcome], text: str) -> None:
    """A kata that never ran has no numbers."""
    assert text == told(a_place("k01_a", tests=tests)).tests


def test_a_kata_that_never_ran_took_no_time() -> None:
    """Not zero minutes."""
    assert "" == told(a_place("k01_a")).time


def test_results_of_an_older_text_are_called_so(tmp_path: Path) -> None:
    """The exercise was edited after its tests ran."""
    place = a_place("k01_a", "failing", folder=tmp_path)
    before = told(place).current
    place.kata.exercise.write_text("x = 1")

    assert (True, False) == (before, told(place).current)


def test_no_hint_is_given_away() -> None:
    """Only those that were taken are there; of a count that is damaged, all."""
    assert [(), ("one", "two"), ("one", "two", "three")] == [
        told(a_place("k01_a", hints=count)).hints for count in (0, 2, 7)
    ]


def test_a_kata_has_sources_and_episodes() -> None:
    """An episode that no file knows is left out."""
    kata = told(a_place("k01_a", episodes=("1", "unknown")))
    address = "https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/Storage.h"

    assert (Pointer("c10/core/Storage.h: Storage", address),) == kata.sources
    assert ((an_episode(1), "why 1 fits"),) == kata.episodes
