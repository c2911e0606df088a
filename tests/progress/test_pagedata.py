"""The content of the page: the course, its lectures and its katas."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from datetime import date
from datetime import datetime
from datetime import timedelta
from datetime import timezone
from typing import TYPE_CHECKING

import pytest

from plugins.course.syllabus import OTHERS
from plugins.guide.reading import Pointer
from plugins.progress.pagedata import Alike
from plugins.progress.pagedata import solved_by_day
from plugins.progress.standing import TestOutcome
from tests.support.pages import PASSED
from tests.support.pages import a_page
from tests.support.pages import a_place
from tests.support.pages import an_episode
from tests.support.pages import everything


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.progress.map import Place
    from plugins.progress.pagedata import Card

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIRST, SECOND = date(2026, 11, 20), date(2026, 11, 22)


def enter(place: Place, tests: dict[str, int]) -> None:
    """Write the entry of a kata's proof."""
    kata = place.kata
    file = kata.meta / "proof.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"tests": tests}))


def card_for(place: Place) -> Card:
    """Return the card of one kata."""
    return a_page(place).stops[0].cards[0]


def test_the_numbers_of_the_course() -> None:
    """Katas by state, time, hints, days, the next kata, what could not run."""
    page = everything()

    assert {"solved": 1, "failing": 2, "open": 1, "new": 1, "unavailable": 1} == page.counts
    assert ("8 min", 2) == (page.time, page.hints)
    assert [1] == [count for _, count in page.days]
    assert page.next
    assert "lecture01/k02_second" == page.next.kata.id
    assert {"cuda: this machine has no GPU": 1} == page.missing


def test_lectures_stand_in_their_parts() -> None:
    """Also unwritten ones; a lecture outside of all parts comes last."""
    page = a_page(a_place("k01_a", lecture="lecture02"), a_place("k01_b", lecture="extra"))

    assert ["Internals", OTHERS] == [title for title, _ in page.parts]
    assert [("1", False, 0), ("2", True, 1), ("3", False, 0)] == [
        (stop.number, bool(stop.lecture), len(stop.cards)) for stop in page.parts[0][1]
    ]
    assert ["2", "extra"] == [stop.number for stop in page.stops]


def test_a_kata_says_why_it_fails_and_what_cannot_run() -> None:
    """Each reason is there once."""
    away = TestOutcome("skipped", "no GPU")
    tests = {"a": PASSED, "b": TestOutcome("failed", "why"), "c[1]": away, "c[2]": away}
    kata = card_for(a_place("k01_a", "failing", tests=tests))

    assert ((Alike("why", ("b",)),), ("no GPU",)) == (kata.failures, kata.reasons)
    assert ("1 of 2 tests pass", "2 min spent") == (kata.tests, kata.time)


def test_a_kata_that_is_not_decided_counts_what_would_decide_it() -> None:
    """One of two tests passes; what is extra or failing counts as before."""
    away = TestOutcome("skipped", "torchx: none")
    card = card_for(a_place("k01_a", "unavailable", tests={"a": PASSED, "b": away}))

    assert ("1 of 2 tests pass", ("torchx: none",)) == (card.tests, card.reasons)


def test_failures_are_grouped_by_message() -> None:
    """In the order in which the tests ran; colours make no difference."""
    said = {"a": "one\ntwo", "b": "other", "c": "\x1b[31mone\x1b[0m\ntwo", "d": "other", "e": "one"}
    tests = {name: TestOutcome("failed", message) for name, message in said.items()}
    kata = card_for(a_place("k01_a", "failing", tests=tests))

    assert (
        Alike("one\ntwo", ("a", "c")),
        Alike("other", ("b", "d")),
        Alike("one", ("e",)),
    ) == kata.failures
    assert (5, True) == (kata.failed, kata.folds)


@pytest.mark.parametrize(
    ("message", "head"),
    [
        ("", ""),
        ("\n  one\n\ntwo\n", "one\n\ntwo"),
        ("1\n2\n3\n4\n5", "1\n2\n3\n4\n5"),
        ("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5 ..."),
        ("x" * 240, "x" * 240),
        ("x" * 241, "x" * 240 + " ..."),
    ],
)
def test_a_card_shows_the_head_of_a_message(message: str, head: str) -> None:
    """A few lines; what is more folds."""
    kata = card_for(a_place("k01_a", "failing", tests={"a": TestOutcome("failed", message)}))

    assert [head] == [failure.head for failure in kata.failures]
    assert kata.folds is head.endswith(" ...")


def test_a_module_that_cannot_be_imported_is_named() -> None:
    """The card names its file, since it has no name among the tests."""
    kata = card_for(a_place("k01_a", "failing", tests={"": TestOutcome("failed", "SyntaxError")}))

    assert (Alike("SyntaxError", ("test_k01_a.py cannot be imported",)),) == kata.failures
    # How many tests there are is not known.
    assert "" == kata.tests


@pytest.mark.parametrize(
    ("tests", "text"),
    [
        ({}, ""),
        ({"a": PASSED}, "1 of 1 test passes"),
        ({"a": TestOutcome("skipped", "x")}, "1 test"),
    ],
)
def test_tests_are_counted_if_they_ran(tests: dict[str, TestOutcome], text: str) -> None:
    """A kata whose tests never ran has no results."""
    assert text == card_for(a_place("k01_a", tests=tests)).tests


def test_tests_that_did_not_run_count_too(tmp_path: Path) -> None:
    """After ``-x`` one of three has run; of a module that cannot be imported the proof knows."""
    failed = TestOutcome("failed", "why")
    stopped = a_place("k01_a", "failing", tests={"a": failed})
    results = replace(stopped.standing.results, total=3)
    stopped = replace(stopped, standing=replace(stopped.standing, results=results))
    broken = a_place("k01_a", "failing", tests={"": failed}, folder=tmp_path / "katas/lecture01")
    enter(broken, {"all": 20})

    assert ["0 of 3 tests pass", "0 of 20 tests pass"] == [
        card_for(place).tests for place in (stopped, broken)
    ]


def test_a_kata_says_how_large_it_is(tmp_path: Path) -> None:
    """Untouched too: the tests of its proof, and the lines of its reference."""
    place = a_place("k01_a", folder=tmp_path / "katas/lecture01")
    before = (card_for(place).tests, card_for(place).code_size)
    enter(place, {"all": 20})
    reference = place.kata.folder / "solutions/k01_a.py"
    reference.parent.mkdir(parents=True)
    reference.write_text("x = 1\n")
    page = a_page(place)

    assert ("", "") == before
    assert [("20 tests", "1 line of code")] == [
        (card.tests, card.code_size) for card in page.stops[0].cards
    ]


def test_a_lecture_says_how_large_it_is(tmp_path: Path) -> None:
    """The tests of all its katas, and the time that was spent on them."""
    new = a_place("k02_b", folder=tmp_path / "katas/lecture01")
    enter(new, {"all": 20})
    (begun, *_), (fresh, *_) = (
        a_page(a_place("k01_a", "failing"), new).stops,
        a_page(a_place("k01_a")).stops,
    )

    assert ("22 tests", "2 min spent") == (begun.tests, begun.time)
    assert ("", "") == (fresh.tests, fresh.time)


def test_a_lab_in_progress_is_at_a_step(tmp_path: Path) -> None:
    """Read from its tests; a kata without steps is at none."""
    place = a_place("k01_first", "failing", folder=tmp_path)
    assert "" == card_for(place).step

    place.kata.test.write_text("@pytest.mark.step(1, 'one')\ndef test_b(): pass")

    assert "step 1 of 1: one" == card_for(place).step


def test_a_lecture_says_how_long_its_core_path_takes() -> None:
    """If its katas state that."""
    place = a_place("k01_first")
    sized = replace(place, kata=replace(place.kata, size="lab", minutes=90))

    assert "" == a_page(place).stops[0].path
    assert "1 h 30 min" == a_page(sized).stops[0].path


def test_a_kata_that_never_ran_took_no_time() -> None:
    """Its time is empty, not zero minutes."""
    assert "" == card_for(a_place("k01_a")).time


def test_results_of_an_older_content_are_not_current(tmp_path: Path) -> None:
    """The exercise was edited after its tests ran."""
    place = a_place("k01_a", "failing", folder=tmp_path)
    before = card_for(place).current
    place.kata.exercise.write_text("x = 1")

    assert (True, False) == (before, card_for(place).current)


def test_no_hint_is_given_away() -> None:
    """Only those that were taken are there; a damaged count cannot give more than all."""
    assert [(), ("one", "two"), ("one", "two", "three")] == [
        card_for(a_place("k01_a", hints=count)).hints for count in (0, 2, 7)
    ]


def test_a_kata_has_sources_and_episodes() -> None:
    """An unknown episode is left out."""
    kata = card_for(a_place("k01_a", episodes=("1", "unknown")))
    address = "https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/Storage.h"

    assert (Pointer("c10/core/Storage.h: Storage", address),) == kata.sources
    assert ((an_episode(1), "why 1 fits"),) == kata.episodes


def test_solutions_add_up_day_by_day() -> None:
    """Moments come in any order; a day without a solution is left out."""
    moments = ["2026-11-22T10:00:00+00:00", "2026-11-20T09:00:00+00:00", "2026-11-22T11:00:00Z"]

    assert [(FIRST, 1), (SECOND, 3)] == solved_by_day(moments, NOW)


def test_a_text_that_is_no_moment_does_not_count() -> None:
    """An unsolved kata has none, and a file may be damaged."""
    west = NOW.astimezone(timezone(timedelta(hours=-12)))

    assert [] == solved_by_day(["", "yesterday", "0001-01-01T00:00:00+12:00"], west)


def test_a_day_is_that_of_the_learner() -> None:
    """23:30 in UTC is the next day in Berlin."""
    berlin = NOW.astimezone(timezone(timedelta(hours=1)))

    assert [(SECOND, 1)] == solved_by_day(["2026-11-21T23:30:00+00:00"], berlin)
