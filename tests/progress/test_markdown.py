"""The page of the course in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from plugins.progress.markdown import summary_of
from plugins.progress.standing import TestOutcome
from tests.support.pages import HOSTILE
from tests.support.pages import PASSED
from tests.support.pages import a_page
from tests.support.pages import a_place
from tests.support.pages import everything
from tests.support.wholecourse import all_wrong
from tests.support.wholecourse import as_stub
from tests.support.wholecourse import whole_page


if TYPE_CHECKING:
    from tests.support.wholecourse import Invented


# Code, as CommonMark finds it: what stands between two equal runs of backticks.
CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
SUMMARY = """\
## 1 of 4 katas solved

4 min spent, 1 hint taken, 2026-11-22.

| lecture | | solved | failing | open | untouched | not here |
| --- | --- | --: | --: | --: | --: | --: |
| 1 One | █████░░░░░ | 1 of 2 | 1 |  |  |  |
| 2 Two | ░░░░░░░░░░ | 0 of 2 |  |  | 1 | 1 |

### Failing

- `lecture01/k02_b` Title of k02_b: 1 test fails
  - `test_b`: `assert 1 == 2`

### Not run on this machine

- 1 test: `cuda: this machine has no GPU`
"""


def test_the_summary() -> None:
    """It has totals, lectures, failures and what could not run."""
    page = a_page(
        a_place("k01_a", "solved", hints=1),
        a_place("k02_b", "failing"),
        a_place("k01_c", lecture="lecture02"),
        a_place("k02_d", "unavailable", lecture="lecture02"),
    )

    assert SUMMARY == summary_of(page)


def test_a_course_that_is_untouched_has_a_short_one() -> None:
    """A heading without content is left out."""
    assert "###" not in summary_of(a_page(a_place("k01_a")))
    assert "0 of 0 katas solved" in summary_of(a_page())


def test_reasons_are_counted_and_errors_named() -> None:
    """Each has a line of its own."""
    away = TestOutcome("skipped", "no GPU")
    place = a_place("k01_a", "solved", tests={"a": PASSED, "b": away, "c": away})
    text = summary_of(a_page(place, errors=("lecture02 is broken",)))

    assert "- 2 tests: `no GPU`\n" in text
    assert text.endswith("### Broken files\n\n- `lecture02 is broken`\n")


def test_what_a_stranger_wrote_is_text() -> None:
    """No HTML, no link, no mention, no cell of the table: what is not escaped is code."""
    text = summary_of(everything())
    assert all(any(part in code for _, code in CODE.findall(text)) for part in HOSTILE[1::2])
    assert not set("<>@`|") & set(CODE.sub("", text.partition("### Failing")[2]))


@pytest.mark.parametrize("hostile", ["` <b> `` @all", "``", "`", "a|b\n| c | d |", "\n\n# Title"])
def test_what_is_code_stays_code(hostile: str) -> None:
    """No name, message, reason or error ends its code."""
    tests = {hostile: TestOutcome("failed", hostile), "b": TestOutcome("skipped", hostile)}
    text = summary_of(a_page(a_place("k01_a", "failing", tests=tests), errors=(hostile,)))
    listed = [line for line in text.splitlines() if line.lstrip().startswith("- ")]

    assert ["-  Title of k01_a: 1 test fails", "  - : ", "- 1 test: ", "- "] == [
        CODE.sub("", line) for line in listed
    ]


def test_a_message_without_text_is_empty() -> None:
    """Its test stands on a line of its own."""
    page = a_page(a_place("k01_a", "failing", tests={"b": TestOutcome("failed", "\n")}))

    assert "  - `b`:\n" in summary_of(page)


def test_failures_alike_stand_together() -> None:
    """By the first line of their messages: the first is shown, and the others are counted."""
    said = {"test_a[1]": "\none\nx", "b": "one\ny", "c": "two", "d": "one\nz"}
    tests = {name: TestOutcome("failed", message) for name, message in said.items()}
    text = summary_of(a_page(a_place("k01_a", "failing", tests=tests)))

    assert (
        "- `lecture01/k01_a` Title of k01_a: 4 tests fail, with 2 messages\n"
        "  - `test_a[1]` and 2 more: `one`\n"
    ) in text


@pytest.mark.parametrize("place", [all_wrong, as_stub])
def test_a_course_in_which_all_fails_has_room(place: Invented) -> None:
    """Its katas are named in 30,000 bytes, or counted; the source reads as Markdown shows it."""
    page = whole_page(place)
    text = summary_of(page)

    assert "failing" == {each.state for each in page.places}.pop()
    assert len(text.encode()) <= 30_000
    named = [f"\n- `{each.kata.id}` " in text for each in page.places]
    more = re.search(r"\n- (\d+) more katas fail: ", text)
    assert len(named) == sum(named) + int(more[1] if more else 0)
    # In the order of the course.
    assert sorted(named, reverse=True) == named
    assert sum(named) > 100
    assert not re.findall(r"&#?\w+;", text)


def test_however_much_fails_it_has_a_limit() -> None:
    """What does not fit is counted: katas, reasons, and files."""
    tests = {f"test_{'x' * 400}": TestOutcome("failed", "word " * 100)}
    katas = [a_place(f"k{n:02}_a", "failing", tests=tests) for n in range(200)]
    away = {f"{n}": TestOutcome("skipped", f"{n} {'no GPU ' * 50}") for n in range(100)}
    katas.append(a_place("k99_z", "unavailable", tests=away))
    text = summary_of(a_page(*katas, errors=tuple(f"{n} {'broken ' * 50}" for n in range(100))))
    shown, reasons, files = (text.count(f"\n- {mark}") for mark in ("`lecture01", "1 test: ", "`"))
    files -= shown

    assert 29_000 < len(text.encode()) <= 30_000
    assert f"\n- {200 - shown} more katas fail: `pytest --page=page.html` shows them\n" in text
    assert f"\n- {100 - reasons} more reasons\n" in text
    assert text.endswith(f"\n- {100 - files} more files\n")
    assert min(shown, reasons, files) > 0
