"""Formats the output of ``--next`` and ``--watch`` as lines of text: no pytest, no torch."""

from __future__ import annotations

import re
import signal
import textwrap
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING
from typing import Any

from plugins.course.files import brief_title
from plugins.guide.traceback import edit_place
from plugins.guide.traceback import keep_own_calls
from plugins.progress.map import format_why
from plugins.tools.terminal import shorten_words


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from plugins.guide.definitions import Definition
    from plugins.guide.failure import Failure


WIDTH = 80
INDENT = 8
# Columns: in fewer, whole words would say too little.
FEW = 20
# A link as terminals take it, around its text.
LINK = re.compile(r"\x1b\]8;;.*?\x1b\\")
# How the lines of a difference begin, and not those that say where a value comes from.
ALIGNED = re.compile(r" *[-?^] | *\+ (?! *where )|[-+?^]")
# Move to the top left and erase below, and erase this row: every current terminal knows these.
CLEAR = "\x1b[H\x1b[2J"
ERASE = "\r\x1b[K"
POSTPONE = "postpone"
KEYS = {
    "n": "next",
    "b": "back",
    "h": "hint",
    "s": "solution",
    "l": "list",
    "r": "rerun",
    "q": "quit",
}

# What `?` says of each.
MEANINGS = {
    "n": "the next kata; one that is not solved is postponed",
    "b": "back to the kata that you left",
    "h": "one more hint",
    "s": "the reference beside your answer, once the kata is solved",
    "l": "all katas: jump to one, or start it over",
    "r": "run the tests again; a save does that too",
    "q": "quit; your place is kept",
}


@dataclass(frozen=True)
class LinesShown:
    """How much of a lesson is shown.

    That is how many lines of the message, calls, and lines of each output of the test; how many
    lines of what to read and to hear, or all with the addresses; whether the brief and what the
    test says may take more than a line each, and whether the message keeps its blank lines.
    """

    message: int = 3
    calls: int = 0
    printed: int = 0
    reading: int | None = 0
    wrapped: bool = False
    blank: bool = False


# What is added as long as there is room, and what is left out otherwise: one order on all screens.
# Addresses go first: --hint and the page have them. Then whole calls go, the outermost first, what
# to hear, and what to read.
STEPS: tuple[dict[str, Any], ...] = (
    {"printed": 1},
    *({"message": many} for many in range(4, 7)),
    {"calls": 1},
    *({"message": many} for many in range(7, 41)),
    {"wrapped": True},
    {"blank": True, "message": 40},
    {"printed": 3},
    {"reading": 1},
    {"reading": 2},
    {"calls": 2},
    {"printed": 5},
    {"calls": 1000},
    {"printed": 20},
    {"reading": None},
)


@dataclass(frozen=True)
class ScreenLine:
    """A line of the terminal, and its style as pytest's terminal writer names it."""

    text: str = ""
    style: str = ""


@dataclass(frozen=True)
class Lesson:
    """The first failing test of a kata, with its context."""

    # The kata's name, and what to read, hear and ask: in whole, without addresses, and the hint.
    heading: str
    reading: Mapping[str, Sequence[str]]
    # The exercise's files, and the test module, by their paths from where pytest was started.
    files: Mapping[str, str]
    module: str
    # The name of the test and the first line of its docstring.
    test: str
    says: str
    failure: Failure
    # The output of the test, by pytest's name for it.
    printed: Sequence[tuple[str, str]] = ()
    # Where the kata is the first of its lecture, or comes after a place to stop.
    lecture: Sequence[str] = ()
    # The texts of the tests, by their paths, and what is to be written in each of the files.
    tests: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Sequence[Definition]] = field(default_factory=dict)


def lesson_lines(
    lesson: Lesson, command: str, rows: int | None = None, columns: int = WIDTH
) -> list[ScreenLine]:
    """Return the lines for a kata that is not solved; `command`, if any, runs it again.

    They take at most `rows` of a terminal, if that is given: what matters least is left out.
    """
    path, number = edit_place(lesson.failure, lesson.files, lesson.places, lesson.tests)

    def form(limits: LinesShown) -> list[ScreenLine]:
        return [
            *head_lines(lesson, limits, f"{path}:{number}"),
            *failure_lines(lesson, command, limits, columns),
        ]

    if rows is None:
        return form(LinesShown(**{name: it for step in STEPS for name, it in step.items()}))
    limits = LinesShown()
    lines = form(limits)
    most = sum(len(wrap_message(line)) for line in lesson.failure.message)
    for step in STEPS:
        if [*step] == ["message"] and step["message"] > most <= limits.message:
            continue
        wider = replace(limits, **step)
        more = form(wider)
        if count_rows(more, columns) <= rows:
            limits, lines = wider, more
    return lines


def head_lines(lesson: Lesson, limits: LinesShown, place: str) -> Iterator[ScreenLine]:
    """Return the lines above the message: which kata and test, and the place to edit."""
    for line in (lesson.heading, str(lesson.failure.step or "")):
        yield from (ScreenLine(part, "bold") for part in wrap_line(line))
    yield from map(ScreenLine, lesson.lecture)
    brief, test = brief_title(lesson.files), f"{lesson.test}: {lesson.says}".removesuffix(": ")
    if not limits.wrapped:
        brief, test = (shorten_words(text, WIDTH - INDENT) for text in (brief, test))
    yield from map(ScreenLine, label_paragraph("brief", brief))
    yield ScreenLine(f"{'edit':<{INDENT}}{place}", "green")
    yield from map(ScreenLine, [*label_paragraph("test", test), ""])


def failure_lines(
    lesson: Lesson, command: str, limits: LinesShown, columns: int
) -> Iterator[ScreenLine]:
    """Return the lines from the message on, no more of each part than `limits` says."""

    def say_rest(more: int, what: str) -> ScreenLine:
        noun = "line" if more == 1 else "lines"
        return ScreenLine(rest_line(f"{more} {what} {noun}", lesson, columns, here=bool(command)))

    failure = lesson.failure
    message = (line for line in failure.message if limits.blank or line.strip())
    parts = [part for line in message for part in wrap_message(line)]
    yield from (ScreenLine(part, "red") for part in parts[: limits.message])
    if more := failure.more + max(len(parts) - limits.message, 0):
        yield say_rest(more, "more")
    calls = keep_own_calls(failure.frames, {*lesson.files, lesson.module})
    if calls := calls[max(len(calls) - limits.calls, 0) :]:
        yield from map(ScreenLine, ["", *wrap_code(chain.from_iterable(calls))])
    for name, text in lesson.printed if limits.printed else ():
        printed = text.splitlines()
        yield from (ScreenLine(), ScreenLine(name, "bold"))
        if (more := len(printed) - limits.printed) > 0:
            yield say_rest(more, "earlier")
        yield from map(ScreenLine, printed[-limits.printed :])
    reading, hint = lesson.reading["whole"], lesson.reading["hint"]
    if limits.reading is not None:
        brief = [line for line in lesson.reading["brief"] if line not in hint]
        reading = [*brief[: limits.reading], *hint]
    if reading:
        yield from map(ScreenLine, ["", *reading])
    if command:
        again = [f"{'again':<{INDENT}}{command}", f"{'later':<{INDENT}}{command} --skip"]
        yield from map(ScreenLine, ["", *again])


def rest_line(what: str, lesson: Lesson, columns: int, *, here: bool) -> str:
    """Return where the lines are that are not shown, in one row; `here` if a command may run."""
    elsewhere = "" if here else ", in another terminal"
    named = f"pytest {lesson.failure.kata} -x -v"
    forms = (
        f"({what}: pytest {lesson.module} -x -v{elsewhere})",
        f"({what}: {named}{elsewhere})",
        f"({what}: {named})",
        f"({what})",
    )
    return next((form for form in forms if len(form) <= columns), forms[-1])


def count_rows(lines: Iterable[ScreenLine], columns: int) -> int:
    """Return how many rows of a terminal the lines take; the address of a link takes none."""
    lengths = (len(LINK.sub("", line.text).expandtabs()) for line in lines)
    return sum(max(-(-length // columns), 1) for length in lengths)


@cache
def label_paragraph(label: str, text: str) -> list[str]:
    """Return a labelled paragraph, wrapped to the terminal."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{label:<{INDENT}}",
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


@cache
def wrap_message(line: str) -> list[str]:
    """Return prose wrapped to the terminal, and a line of a difference unwrapped: it is aligned."""
    return [line] if len(line) <= WIDTH or ALIGNED.match(line) else wrap_line(line)


@cache
def wrap_line(line: str) -> list[str]:
    """Return a line wrapped to the terminal at spaces, as far in as it begins; none if empty."""
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=line[: len(line) - len(line.lstrip())],
        break_long_words=False,
        break_on_hyphens=False,
    )


def wrap_code(lines: Iterable[str]) -> Iterator[str]:
    """Return lines of code wrapped to the terminal, without the marks below one that is."""
    wrapped = False
    for line in lines:
        if wrapped and not line.strip(" ^~"):
            continue
        parts = wrap_line(line) or [line]
        wrapped = len(parts) > 1
        yield from parts


def skipped_lines(skipped: str, shown: str, *, watched: bool) -> Iterator[ScreenLine]:
    """Return that the skipped kata is postponed, and how it comes back; `shown` is now current."""
    if skipped and skipped == shown:
        yield ScreenLine(f"{skipped} is the only one left, so here it is again", "yellow")
    elif skipped:
        back = "press b to go back to it" if watched else "it comes back at the end of its lecture"
        yield ScreenLine(f"{skipped} is postponed: {back}", "yellow")


def passing_lines(passing: str) -> Iterator[ScreenLine]:
    """Return the line that says how many tests pass, as in ``3 of 20``; none if that is ""."""
    if passing:
        yield ScreenLine(f"{'tests':<{INDENT}}{passing} pass")


def waiting_lines(waiting: Mapping[str, Sequence[Kata]]) -> Iterator[ScreenLine]:
    """Return how many katas were passed over, by the id of the kata that they wait for."""
    for blocker, katas in waiting.items():
        first, last = katas[0].id, katas[-1].name
        names = first if len(katas) == 1 else f"{first} to {last}"
        count = "1 kata waits" if len(katas) == 1 else f"{len(katas)} katas wait"
        text = f"{count} for {blocker}, which {'it builds' if len(katas) == 1 else 'they build'} on"
        for line in textwrap.wrap(f"{text}: {names}", WIDTH, subsequent_indent="  "):
            yield ScreenLine(line, "yellow")


def format_away(away: Mapping[str, str]) -> Iterator[ScreenLine]:
    """Return which katas were passed over, by their ids, and what keeps them from being decided."""
    for kata, why in away.items():
        for line in format_why(kata, why):
            yield ScreenLine(line, "yellow")


def format_done(
    where: str, solved: int, total: int, *, rest: str, away: Mapping[str, str]
) -> Iterator[ScreenLine]:
    """Return that everything `where` is solved, apart from the katas that cannot run here.

    `where` names lectures, or the core path of them; `rest` is the command for other lectures.
    """
    if solved + len(away) < total:
        # -k, -m or --device left tests out.
        text = f"Nothing failed, but not all tests ran: {solved} of {total} katas are solved."
        yield from map(ScreenLine, wrap_line(text))
        return
    what = "that can run here " if away else ""
    text = f"Everything {what}in {where} is solved: {solved} of {total} katas."
    yield from (ScreenLine(line, "green") for line in wrap_line(text))
    yield from format_rest(rest)


def format_rest(command: str) -> list[ScreenLine]:
    """Return the line with the command for the lectures beside this one's, if there is one."""
    return [ScreenLine(f"The rest of the course: {command}")] * bool(command)


def clear_sequence(environ: Mapping[str, str]) -> str:
    """Return the sequence that clears the screen, or an empty line for a dumb terminal."""
    return CLEAR if knows_sequences(environ) else "\n"


def knows_sequences(environ: Mapping[str, str]) -> bool:
    """Whether the terminal knows `CLEAR` and `ERASE`; a dumb one does not."""
    return environ.get("TERM", "dumb") not in {"", "dumb"}


def keys_line(*, solved: bool, back: bool = False, postpones: bool = False) -> str:
    """Return the keys that mean something now: the solution once solved, back once left.

    The key for the next kata has another word where it `postpones` the one at hand.
    """
    left_out = {key for key, means in (("s", solved), ("b", back)) if not means}
    words = {**KEYS, "n": POSTPONE} if postpones else KEYS
    shown = {key: word for key, word in words.items() if key not in left_out}
    return "  ".join(f"{key} {word}" for key, word in shown.items())


def clock_line(seconds: float, status: str, width: int) -> str:
    """Return how long a run has taken and what it does, in one row, with the keys that end it."""
    keys = "r rerun  q quit"
    head, room = f"{seconds:3.0f} s  ", max(width - 1 - len(keys) - 2, 0)
    left = room - len(head)
    head += shorten_words(status, left) if left >= FEW else status
    return f"{head[:room]:{room}}  {keys}"[: max(width - 1, 0)]


def format_end(code: int) -> Iterator[str]:
    """Return the signal that ended a run, which could not report it itself."""
    if code < 0:
        yield f"The run was ended by {signal.Signals(-code).name}."
