"""The summary in Markdown."""

from __future__ import annotations

from plugins.pagesummary import LONGEST
from plugins.pagesummary import plain
from plugins.pagesummary import summary_of
from plugins.standing import Outcome
from tests.pages import PASSED
from tests.pages import a_page
from tests.pages import a_place
from tests.pages import everything


SUMMARY = """\
## 1 of 4 katas solved

4 min spent, 1 hint taken, 2026-11-22.

| lecture | | solved | failing | open | untouched | not here |
| --- | --- | --: | --: | --: | --: | --: |
| 1 One | █████░░░░░ | 1 of 2 | 1 |  |  |  |
| 2 Two | ░░░░░░░░░░ | 0 of 2 |  |  | 1 | 1 |

### Failing

- **lecture01/k02&#95;b**: Title of k02&#95;b
  - test&#95;b: assert 1 == 2

### Not run on this machine

- 1 test: cuda&#58; this machine has no GPU
"""


def test_the_summary() -> None:
    """Numbers, lectures, what fails and what could not run."""
    page = a_page(
        a_place("k01_a", "solved", hints=1),
        a_place("k02_b", "failing"),
        a_place("k01_c", lecture="lecture02"),
        a_place("k02_d", "unavailable", lecture="lecture02"),
    )

    assert SUMMARY == summary_of(page)


def test_a_course_that_is_untouched_has_a_short_one() -> None:
    """No heading without something below it."""
    assert "###" not in summary_of(a_page(a_place("k01_a")))
    assert "0 of 0 katas solved" in summary_of(a_page())


def test_reasons_are_counted_and_errors_named() -> None:
    """Each in a line."""
    away = Outcome("skipped", "no GPU")
    place = a_place("k01_a", "solved", tests={"a": PASSED, "b": away, "c": away})
    text = summary_of(a_page(place, errors=("lecture02 is broken",)))

    assert "- 2 tests: no GPU\n" in text
    assert text.endswith("### Broken files\n\n- lecture02 is broken\n")


def test_what_a_stranger_wrote_is_text() -> None:
    """No HTML, no link, no mention, no cell of the table."""
    text = plain("a|b <img> [x](y) @someone #12 `c` &lt; \x1b[31m\n*d*")

    assert not set("<>[]()@`*|") & set(text)
    assert "a&#124;b &#60;img&#62;" in text
    assert not set("<>@`") & set(summary_of(everything()))


def test_a_message_without_text_is_empty() -> None:
    """And a long one is cut between words."""
    page = a_page(a_place("k01_a", "failing", tests={"b": Outcome("failed", "\n")}))

    assert "  - b: \n" in summary_of(page)
    assert LONGEST >= len(plain("word " * 100).replace("&#46;", "."))
