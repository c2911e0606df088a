"""What ``--next`` says, as lines of text: no pytest, no torch."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.frames import cut
from plugins.frames import edit_place
from plugins.frames import read_failure


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence


WIDTH = 80
INDENT = 8
BAR = 20
# Of what a test has printed, and of a message.
LAST = 20
MOST = 40
# How the lines of a difference begin.
ALIGNED = " +-?^"
TITLE = re.compile(r'(?:r?"""|//[ ]*)(?P<title>(?!tier:)\S.*?)(?:""")?$', re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """The first failing test of a kata, and what belongs to it.

    Attributes
    ----------
    heading, reading
        What `plugins.reading` says about the kata: its name, and what to read, hear and ask.
    files
        The texts of the exercise's files, by their paths from where pytest was started.
    test, says
        The name of the test and the first line of its docstring.
    text
        pytest's short traceback, or whatever stands for it.
    printed
        What the test has printed, by pytest's name for it.
    """

    heading: str
    reading: Sequence[str]
    files: Mapping[str, str]
    module: str
    test: str
    says: str
    text: str
    printed: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Line:
    """A line of the terminal, and how it stands out."""

    text: str = ""
    style: str = ""


def brief_title(files: Mapping[str, str]) -> str:
    """Return the first line of the brief."""
    for text in files.values():
        if found := TITLE.search(text):
            return found["title"].strip()
    return ""


def bar(solved: int, total: int, *, blocks: bool) -> str:
    """Return how much of the course is solved."""
    filled = BAR * solved // max(total, 1)
    full, empty = ("█", "░") if blocks else ("#", ".")
    return f"{full * filled}{empty * (BAR - filled)} {solved} of {total} katas solved"


def lesson_lines(lesson: Lesson, command: str) -> Iterator[Line]:
    """Return what to show of a kata that is not solved.

    `command` runs what is shown now again; there need be none.
    """
    failure = read_failure(lesson.text)
    path, number = edit_place(failure, lesson.files)
    yield Line(lesson.heading, "bold")
    yield from map(Line, labelled("brief", brief_title(lesson.files)))
    yield Line(f"{'edit':<{INDENT}}{path}:{number}", "green")
    test = f"{lesson.test}: {lesson.says}".removesuffix(": ")
    yield from map(Line, [*labelled("test", test), ""])
    for line in failure.message[:MOST]:
        yield from (Line(part, "red") for part in wrapped(line))
    if (more := len(failure.message) - MOST) > 0:
        yield Line(f"({more} more lines: pytest {lesson.module} -x)")
    if shown := cut(failure.calls, {*lesson.files, lesson.module}):
        yield from map(Line, ["", *shown])
    for name, text in lesson.printed:
        yield from (Line(), Line(name, "bold"), *map(Line, text.splitlines()[-LAST:]))
    yield from map(Line, ["", *lesson.reading])
    if command:
        again = [f"{'again':<{INDENT}}{command}", f"{'later':<{INDENT}}{command} --skip"]
        yield from map(Line, ["", *again])


def done_lines(
    where: str, solved: int, total: int, *, whole: bool, away: Mapping[str, str]
) -> Iterator[Line]:
    """Return that all is solved `where`, or all but what cannot run here."""
    if solved + len(away) < total:
        # -k, -m or --device left tests out.
        yield Line(f"Nothing failed, but not all tests ran: {solved} of {total} katas are solved.")
        return
    what = "that can run here " if away else ""
    yield Line(f"Everything {what}in {where} is solved: {solved} of {total} katas.", "green")
    if not whole:
        yield Line("The rest of the course: pytest katas --next")


def away_lines(away: Mapping[str, str]) -> Iterator[Line]:
    """Return which katas were passed over, and why, by their ids."""
    for kata, reason in away.items():
        text = f"{kata} cannot run here: {reason}"
        for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False):
            yield Line(line, "yellow")


def skipped_lines(skipped: str, shown: str) -> Iterator[Line]:
    """Return what became of the kata that was skipped; `shown` is the one that is shown now."""
    if skipped and skipped == shown:
        yield Line(f"{skipped} is the only one left, so here it is again", "yellow")
    elif skipped:
        yield Line(f"{skipped} comes back after the others", "yellow")


def wrapped(line: str) -> list[str]:
    """Return prose in lines that fit the terminal; a difference of two values stays aligned."""
    if len(line) <= WIDTH or line[0] in ALIGNED:
        return [line]
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def labelled(label: str, text: str) -> list[str]:
    """Return a labelled paragraph that fits the terminal."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{label:<{INDENT}}",
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
