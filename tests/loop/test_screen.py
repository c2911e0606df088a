"""The lines of ``--next`` and ``--watch``, and the room that they take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.course.model import Kata
from plugins.guide.shorten import CUT
from plugins.guide.steps import LabStep
from plugins.loop.screen import CLEAR
from plugins.loop.screen import WIDTH
from plugins.loop.screen import Lesson
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import clear_sequence
from plugins.loop.screen import clock_line
from plugins.loop.screen import count_rows
from plugins.loop.screen import format_away
from plugins.loop.screen import format_done
from plugins.loop.screen import format_end
from plugins.loop.screen import keys_line
from plugins.loop.screen import lesson_lines
from plugins.loop.screen import passing_lines
from plugins.loop.screen import skipped_lines
from plugins.loop.screen import waiting_lines
from tests.support.failures import EXERCISE
from tests.support.failures import OWN
from tests.support.failures import PATH
from tests.support.failures import TRACEBACK
from tests.support.failures import failure_in


LESSON = Lesson(
    "lecture01/k01_first: Twice",
    {
        "whole": ["read    a/b.h: c", f"        https://{'x' * 90}", "hint    pytest it --hint"],
        "brief": ["read    a/b.h: c", "hint    pytest it --hint"],
        "hint": ["hint    pytest it --hint"],
    },
    {PATH: EXERCISE},
    OWN[1],
    "test_it[cpu]",
    "It doubles.",
    failure_in(TRACEBACK),
)


def format_lesson(lesson: Lesson, rows: int | None = None) -> list[str]:
    """Return the lines of a lesson."""
    return [line.text for line in lesson_lines(lesson, "pytest katas --next", rows)]


def test_long_texts_fit_the_terminal() -> None:
    """A message of prose is wrapped; a difference of two values keeps its columns."""
    text = f"E   AssertionError: {'word ' * 40}\nE     {'- aligned ' * 10}\nE   + {'x' * 90}"
    lines = format_lesson(replace(LESSON, failure=failure_in(text), says="It says much. " * 20))
    wide = [line for line in lines if len(line) > WIDTH and "https" not in line]

    assert [line[:3] for line in wide] == ["  -", "+ x"]
    assert sum(line.startswith("        says") or "It says" in line for line in lines) > 2


def test_a_lab_says_which_step_is_next() -> None:
    """Below its heading; other katas have no such line."""
    failure = replace(LESSON.failure, step=LabStep(2, 5, "all operators"))
    lines = format_lesson(replace(LESSON, failure=failure))

    assert ["lecture01/k01_first: Twice", "step 2 of 5: all operators"] == lines[:2]
    assert [lines[0], *lines[2:]] == format_lesson(LESSON)


def test_a_very_long_message_is_cut() -> None:
    """And says where the rest is."""
    lines = format_lesson(
        replace(LESSON, failure=failure_in("\n".join(f"E   {n}" for n in range(100))))
    )

    assert "(60 more lines: pytest katas/lecture01/test_k01.py -x -v)" in lines
    assert "39" in lines
    assert "40" not in lines


def test_the_output_of_the_test_is_shown() -> None:
    """The last lines of it, and how many came before."""
    printed = ("Captured stdout call", "\n".join(f"line {n}" for n in range(100)))
    lines = format_lesson(replace(LESSON, printed=[printed]))

    assert lines[lines.index("Captured stdout call") :][:3] == [
        "Captured stdout call",
        "(80 earlier lines: pytest katas/lecture01/test_k01.py -x -v)",
        "line 80",
    ]


def test_what_was_cut_before_counts_too() -> None:
    """A report has no more of a message than a screen; another terminal shows what --watch cuts."""
    failure = failure_in("\n".join(f"E   {n}" for n in range(3)), more=7)
    lines = [line.text for line in lesson_lines(replace(LESSON, failure=failure), "")]

    assert "(7 more lines: pytest katas/lecture01/test_k01.py -x -v, in another terminal)" in lines
    assert CUT.format(7) not in lines


LONG = "\n".join(f"E   {'-+'[n % 2]} row {n}" for n in range(14))
CALLS = "".join(f"{PATH}:{n}: in f\n    return f(n - 1)\n" for n in range(40))
PRINTED = (("Captured stdout call", "\n".join(f"line {n}" for n in range(20))),)


@pytest.mark.parametrize(
    "text", [LONG, f"{CALLS}E   boom", f"{CALLS}{LONG}", LONG.replace("row", "w" * 90)]
)
@pytest.mark.parametrize("printed", [(), PRINTED, PRINTED * 3])
@pytest.mark.parametrize("command", ["pytest katas --next", ""])
def test_all_of_it_is_on_a_small_screen(
    text: str, printed: tuple[tuple[str, str], ...], command: str
) -> None:
    """However long the brief, the message, the calls and the output are."""
    lesson = replace(LESSON, failure=failure_in(text), printed=printed, says="It says much. " * 20)
    lines = [line.text for line in lesson_lines(lesson, command, 19)]

    assert count_rows(map(ScreenLine, lines), WIDTH) <= 19
    assert lesson.heading == lines[0]
    assert [line for line in lines if line.startswith(f"edit    {PATH}:")]
    assert lesson.failure.message[0] in lines
    assert not command or f"again   {command}" in lines
    assert [*lesson_lines(lesson, command, 1000)] == [*lesson_lines(lesson, command)]


def test_addresses_go_first_and_then_whole_calls() -> None:
    """What matters more stays: where to edit, the message, the call that failed last."""
    lesson = replace(LESSON, failure=failure_in(TRACEBACK))
    whole = [line.text for line in lesson_lines(lesson, "")]
    rows = count_rows(map(ScreenLine, whole), WIDTH)

    def shown(rows: int) -> list[str]:
        return [line.text for line in lesson_lines(lesson, "", rows)]

    assert whole == shown(rows)
    assert [line for line in whole if "https" not in line] == shown(rows - 1)
    calls = [line for line in whole if "katas/lecture01/test_k01.py:12" in line]
    assert calls
    assert [line for line in shown(rows - 3) if "test_k01.py" in line] == []
    assert f"{PATH}:7: in twice" in shown(rows - 3)
    assert "TypeError: two arguments" in shown(1)


SAYS = "\n".join([f"E   AssertionError: row {n} differs" for n in range(12)])


@pytest.mark.parametrize("rows", range(11, 40))
@pytest.mark.parametrize("text", [SAYS, TRACEBACK, f"{CALLS}{SAYS}"])
def test_a_message_is_cut_only_where_no_row_is_free(text: str, rows: int) -> None:
    """In each height of the terminal."""
    lesson = replace(LESSON, failure=failure_in(text))
    lines = lesson_lines(lesson, "", rows)

    used = count_rows(lines, WIDTH)
    assert used <= rows
    if any("more line" in line.text for line in lines):
        assert used == rows


def test_what_to_read_goes_in_one_order() -> None:
    """First what to hear, then what to read; both come back where there are rows for them."""
    brief = ["read    a/b.h: c", "listen  #1 A", "hint    pytest it --hint"]
    reading = {**LESSON.reading, "brief": brief}
    whole = [*brief[:2], f"        https://{'x' * 90}", brief[2]]

    def kinds(text: str, rows: int) -> list[str]:
        lesson = replace(LESSON, failure=failure_in(text), reading={**reading, "whole": whole})
        lines = [line.text for line in lesson_lines(lesson, "", rows)]
        return [line[:6].strip() for line in lines if line in whole]

    for text in (TRACEBACK, SAYS, "E   one", f"{CALLS}{SAYS}"):
        shown = {tuple(kinds(text, rows)) for rows in range(8, 60)}
        assert shown == {
            ("hint",),
            ("read", "hint"),
            ("read", "listen", "hint"),
            ("read", "listen", "", "hint"),
        }


def test_blank_lines_of_a_message_go_before_its_words() -> None:
    """They come back where all of the rest is shown."""
    lesson = replace(LESSON, failure=failure_in("E   one\nE   \nE   two\nE     \nE   three"))
    whole = [line.text for line in lesson_lines(lesson, "")]
    few = [line.text for line in lesson_lines(lesson, "", 9)]

    at = whole.index("one")
    assert ["one", "", "two", "  ", "three"] == whole[at : at + 5]
    assert ["one", "two", "three"] == few[few.index("one") :][:3]


def test_no_word_of_the_course_is_broken() -> None:
    """A heading, a message that is indented and a line of code are wrapped at spaces, as far in."""
    code = f"k.py:3: in f\n    assert {'word ' * 20}\n           ^^^^^^^\n    ^"
    text = f"{code.replace('k.py', PATH)}\nE   {'one two ' * 15}\nE     {'three four ' * 12}"
    where = f"{text}\nE    +  where {'five ' * 30}"
    lesson = replace(LESSON, failure=failure_in(where), heading=f"k: {'title ' * 20}")
    lines = [line.text for line in lesson_lines(replace(lesson, reading=LESSON.reading), "")]

    assert [] == [line for line in lines if len(line) > WIDTH and "https" not in line]
    assert "  three four three" in [line[:18] for line in lines]
    assert not any("^" in line for line in lines)
    words = {"k:", "title", "assert", "word", "one", "two", "three", "four", "+", "where", "five"}
    broken = [line.split() for line in lines if words.intersection(line.split())]
    assert [] == [parts for parts in broken if not words.issuperset(parts)]


def test_what_is_not_shown_is_told_in_one_row() -> None:
    """By the kata's name where the path is too long, and without a command where that is too."""
    failure = failure_in("\n".join(f"E   {n}" for n in range(3)), more=7)
    module = f"katas/lecture01/test_{'k' * 20}.py"
    lesson = replace(LESSON, failure=failure, module=module)

    def told(columns: int, command: str = "") -> str:
        lines = [line.text for line in lesson_lines(lesson, command, 1000, columns)]
        return next(line for line in lines if "7 more lines" in line)

    assert f"(7 more lines: pytest {module} -x -v, in another terminal)" == told(120)
    assert "(7 more lines: pytest lecture01/k01 -x -v, in another terminal)" == told(80)
    assert f"(7 more lines: pytest {module} -x -v)" == told(80, "pytest")
    assert "(7 more lines: pytest lecture01/k01 -x -v)" == told(50)
    assert "(7 more lines)" == told(40)


def test_a_row_is_as_wide_as_the_terminal() -> None:
    """A long line takes several, a blank one takes one, and the address of a link takes none."""
    link = f"\x1b]8;;https://{'x' * 200}\x1b\\text\x1b]8;;\x1b\\"
    lines = [ScreenLine(text) for text in ("", "x" * 80, "x" * 81, link, "\tx" * 10)]

    assert 1 + 1 + 2 + 1 + 2 == count_rows(lines, 80)


def test_the_end_names_how_much_is_solved() -> None:
    """All, all that can run here, or all that was asked for."""

    def text(solved: int, away: dict[str, str], rest: str = "") -> list[str]:
        return [line.text for line in format_done("there", solved, 3, rest=rest, away=away)]

    assert text(3, {}) == ["Everything in there is solved: 3 of 3 katas."]
    assert text(2, {"k": "gpu"}) == [
        "Everything that can run here in there is solved: 2 of 3 katas."
    ]
    assert text(3, {}, "pytest katas --next")[1:] == ["The rest of the course: pytest katas --next"]
    assert text(2, {}) == ["Nothing failed, but not all tests ran: 2 of 3 katas are solved."]
    where = "the core path of lecture01 to lecture12"
    lines = [*format_done(where, 235, 267, rest="", away=dict.fromkeys(map(str, range(32)), ""))]
    assert ["Everything that can run here in the core path of lecture01 to lecture12 is"] == [
        line.text for line in lines[:-1]
    ]
    assert "solved: 235 of 267 katas." == lines[-1].text


def test_a_skip_is_described_by_what_is_shown_next() -> None:
    """The skipped kata itself, if it is the only one left; without a skip, nothing."""
    assert [] == list(skipped_lines("", "k", watched=True))
    assert ["k is postponed: it comes back at the end of its lecture"] == [
        line.text for line in skipped_lines("k", "other", watched=False)
    ]
    assert ["k is postponed: press b to go back to it"] == [
        line.text for line in skipped_lines("k", "other", watched=True)
    ]
    assert ["k is the only one left, so here it is again"] == [
        line.text for line in skipped_lines("k", "k", watched=False)
    ]


def test_a_long_reason_is_wrapped() -> None:
    """Each kata that cannot run here has its own, in yellow."""
    away = {"lecture01/k01": f"cannot run here: {'why ' * 30}", "lecture01/k02": "is not decided"}
    lines = list(format_away(away))

    assert {"yellow"} == {line.style for line in lines}
    assert ["lecture01/k01 cannot", "  why why why why wh", "lecture01/k02 is not"] == [
        line.text[:20] for line in lines
    ]
    assert max(len(line.text) for line in lines) <= WIDTH


def test_the_solution_is_a_key_once_the_kata_is_solved() -> None:
    """The other keys are always there."""
    assert "n next  h hint  l list  r rerun  q quit" == keys_line(solved=False)
    assert "n next  h hint  s solution  l list  r rerun  q quit" == keys_line(solved=True)


def test_the_key_for_the_next_kata_says_what_it_does() -> None:
    """It goes on, or it leaves a kata for later."""
    line = keys_line(solved=False, back=True, postpones=True)

    assert "n postpone  b back  h hint  l list  r rerun  q quit" == line


@pytest.mark.parametrize(
    ("environment", "text"),
    [({"TERM": "xterm"}, CLEAR), ({"TERM": "dumb"}, "\n"), ({"TERM": ""}, "\n"), ({}, "\n")],
)
def test_a_terminal_that_cannot_be_cleared_scrolls(environment: dict[str, str], text: str) -> None:
    """No control sequence is shown to a person."""
    assert text == clear_sequence(environment)


def test_a_run_that_was_killed_is_named() -> None:
    """A run that ended by itself needs no line."""
    assert ["The run was ended by SIGKILL."] == list(format_end(-9))
    assert [] == list(format_end(1))


def named(*names: str) -> list[Kata]:
    """Return katas of lecture 4."""
    nothing: tuple[()] = ()
    return [
        Kata("lecture04", name, "", "lab", (), nothing, (), (), (), (), (), Path("lecture04"))
        for name in names
    ]


def test_what_waits_is_counted_and_named() -> None:
    """With the kata that it builds on, in lines of the terminal."""
    many = named("k02_dispatcher", "k03_clamp", "k13_codegen")
    lines = [line.text for line in waiting_lines({"lecture04/k01_schema": many})]

    assert lines == [
        "3 katas wait for lecture04/k01_schema, which they build on:",
        "  lecture04/k02_dispatcher to k13_codegen",
    ]
    assert [line.text for line in waiting_lines({"lecture04/k01_schema": many[:1]})] == [
        "1 kata waits for lecture04/k01_schema, which it builds on:",
        "  lecture04/k02_dispatcher",
    ]
    assert [] == [*waiting_lines({})]


@pytest.mark.parametrize("width", [120, 80, 30, 12, 1])
def test_the_clock_is_one_row(width: int) -> None:
    """However long the name of a test and however narrow the terminal."""
    line = clock_line(3.2, "test_small: It doubles. " * 9, width)

    assert len(line) == width - 1
    assert line.startswith("  3 s  test_small"[: max(width - 18, 0)])
    assert (" ...  " in line) == (width > 50)
    assert line.endswith("r rerun  q quit") == (width > 20)


def test_a_kata_without_anything_to_read_has_no_such_rows() -> None:
    """As where something breaks beside it: nor the blank row above them."""
    nothing: dict[str, list[str]] = {"whole": [], "brief": [], "hint": []}
    lesson = replace(LESSON, reading=nothing)
    lines = [line.text for line in lesson_lines(lesson, "", 40)]

    assert "" != lines[-1]
    assert lines == [line.text for line in lesson_lines(lesson, "")]


def test_the_tests_that_pass_have_a_row() -> None:
    """Where they were counted."""
    assert [ScreenLine("tests   3 of 20 pass")] == [*passing_lines("3 of 20")]
    assert [] == [*passing_lines("")]
