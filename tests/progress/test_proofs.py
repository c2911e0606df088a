"""How a kata is proved, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.progress.pagehtml import html_of
from plugins.progress.proofs import count_tests
from plugins.progress.proofs import describe_proof
from tests.support.pages import a_page
from tests.support.pages import a_place


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.progress.map import Place

ENTRY: dict[str, Any] = {
    "proved": "2026-11-23",
    "torch": "2.13",
    "tests": {"all": 9, "red": 8, "given": 1, "skipped": 0},
    "wrong": {"listed": 7, "tried": 6, "rejected": 6},
    "right": {"tried": 0, "accepted": 0},
    "mutants": {"possible": 41, "tried": 40, "killed": 39, "equivalent": 1},
    "repeats": {"run": 20, "passed": 20},
    "blind": [],
}
LINES = (
    "8 of 9 tests fail with the stub; with the solution all pass",
    "6 of 6 wrong answers are rejected",
    "39 of 40 solutions with one small mistake are rejected",
    "20 of 20 repeats in random order pass",
    "proved on 2026-11-23 with torch 2.13",
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return the place of a kata of a course in a temporary folder."""
    return a_place("k01_a", folder=tmp_path / "katas/lecture01")


def enter(place: Place, text: str) -> None:
    """Write the entry of the kata."""
    kata = place.kata
    file = kata.meta / "proof.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_an_entry_in_words(place: Place) -> None:
    """What was run, what was found, when, and with which torch."""
    enter(place, json.dumps(ENTRY))

    assert describe_proof(place.kata) == LINES


@pytest.mark.parametrize(("seconds", "took"), [(3, "1 min"), (259, "4 min"), (7500, "2 h 05 min")])
def test_an_entry_says_how_long_it_took(place: Place, seconds: int, took: str) -> None:
    """In minutes, at least one."""
    enter(place, json.dumps({**ENTRY, "seconds": seconds}))

    assert f"{LINES[-1]}, in {took}" == describe_proof(place.kata)[-1]


def test_the_tests_of_an_entry_are_counted(place: Place) -> None:
    """All of them; without an entry there are none."""
    assert 0 == count_tests(place.kata)
    enter(place, json.dumps(ENTRY))

    assert 9 == count_tests(place.kata)


def test_other_right_answers_and_blind_runs(place: Place) -> None:
    """They have lines where there are any."""
    blind = [{"tests": 9, "passed": passed} for passed in (9, 8, 9)]
    enter(place, json.dumps({**ENTRY, "right": {"tried": 2, "accepted": 2}, "blind": blind}))
    lines = describe_proof(place.kata)

    assert "2 of 2 other right answers are accepted" == lines[2]
    assert "2 of 3 people solved it blind at the first run" == lines[-2]


@pytest.mark.parametrize("text", ["", "{}", "[]", "7", '{"tests": 3}'])
def test_an_entry_that_cannot_be_read(place: Place, text: str) -> None:
    """The page leaves it out."""
    enter(place, text)

    assert describe_proof(place.kata) == ()


def test_a_kata_without_an_entry(place: Place) -> None:
    """A course of another package has none."""
    assert describe_proof(place.kata) == ()


def test_the_page_says_how_a_kata_is_proved(place: Place) -> None:
    """Under the headings of what to read and to listen to."""
    without = html_of(a_page(place))
    enter(place, json.dumps(ENTRY))
    page = html_of(a_page(place))

    assert "How this kata is proved" not in without
    assert "<h5>How this kata is proved</h5>" in page
    assert all(f"<li>{line}</li>" in page for line in LINES)
