"""``--solution`` shows the reference beside the learner's answer, once the kata is solved.

The two texts stand side by side, line by line, in as many columns as the terminal has.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from itertools import zip_longest
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal

import pytest

from plugins.course.files import content_of
from plugins.course.files import learners_files
from plugins.course.names import name_for_pytest
from plugins.course.session import course_root
from plugins.loop.hint import require_kata
from plugins.loop.screen import INDENT
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import label_paragraph
from plugins.progress.map import format_why
from plugins.progress.map import why_away
from plugins.progress.store import read_standing
from plugins.tools.showing import configured
from plugins.tools.terminal import format_duration


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.progress.standing import Standing


SOLVED = "solved"
NOW = "now"
# The brief: the docstring of a module, or the first comment of a source.
BRIEF = re.compile(r'\s*(?:r?""".*?"""|(?://[^\n]*(?:\n|$))+)\s*', re.DOTALL)
# Equal, changed, only on the left, only on the right: the marks of sdiff, and their colours.
Mark = Literal[" ", "|", "<", ">"]
STYLES: dict[Mark, str] = {" ": "", "|": "yellow", "<": "red", ">": "green"}
TAB = 4
# Columns: of the narrowest cell, of the mark with its blanks, and of the indent of a wrapped line.
NARROWEST = 20
BETWEEN = 3
HANGING = 2
# The East Asian widths that take two columns, and the categories that take none.
WIDE = {"W", "F"}
COMBINING = {"Mn", "Me", "Cf"}
# How many lines of a reference stand above what else there is to say of a solved kata.
MOST = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--solution",
        nargs="?",
        const=SOLVED,
        metavar="now",
        help="Show the reference beside your answer for the kata named on the command line, once "
        "it is solved; --solution=now shows it before.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Show both texts and end the session: no kata is imported or run."""
    value = config.getoption("solution")
    if value is None or config.option.help:
        return None
    # In `pytest --solution PATH`, argparse takes PATH for the option's value.
    arguments = [*config.args] if value in {SOLVED, NOW} else [value]
    with configured(config):
        root, start = course_root(config), config.invocation_params.dir
        kata = require_kata("--solution", config, arguments)
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        standing = read_standing(root, kata)
        if value != NOW and standing.state(content_of(kata)) != SOLVED:
            for line in explain_unsolved(kata, standing, name_for_pytest(kata, start)):
                reporter.line(line)
            return int(pytest.ExitCode.TESTS_FAILED)
        show_reference(reporter, kata)
    return 0


def explain_unsolved(kata: Kata, standing: Standing, test: str = "") -> Iterator[str]:
    """Return why the reference is not shown, and what leads to it.

    These are commands for the test module `test`, or under ``--watch`` the key.
    """
    state, results = standing.states.get(content_of(kata)), standing.results
    if state == "unavailable":
        yield from format_why(kata.id, why_away(results))
    else:
        yield f"{kata.id} is not solved yet: " + (
            f"{results.passing} tests pass."
            if state == "failing" and results.passing
            else "its tests have not passed with your current answer."
        )
    if test:
        yield f"  Run them:               pytest {test} -x"
        yield f"  The reference at once:  pytest {test} --solution=now"
    else:
        yield "  s shows the reference once they pass."


def show_reference(reporter: Any, kata: Kata) -> None:
    """Write each file of the kata beside its reference."""
    reporter.line(f"{kata.id}: {kata.title}", bold=True)
    # The terminal's, $COLUMNS or 80.
    for line in reference_lines(kata, reporter.config.get_terminal_writer().fullwidth):
        reporter.line(line.text, **({line.style: True} if line.style else {}))


def reference_lines(kata: Kata, width: int) -> Iterator[ScreenLine]:
    """Return each file of the kata beside its reference, in lines of at most `width` columns."""
    for name, mine, reference in pair_files(kata):
        yield ScreenLine()
        yield ScreenLine(f"{name}: your answer on the left, the reference on the right", "bold")
        rows = list(side_by_side(strip_brief(mine), strip_brief(reference), width))
        if all(row.mark == " " for row in rows):
            yield ScreenLine("They are the same.", "green")
            continue
        yield from (ScreenLine(row.text, STYLES[row.mark]) for row in rows)


@dataclass(frozen=True)
class Moment:
    """A kata that has just been solved.

    Attributes
    ----------
    kata
        The kata.
    seconds, hints
        The time spent on it, and how many of its hints were taken.
    following
        The kata that comes next, if one is left.
    """

    kata: Kata
    seconds: float
    hints: int
    following: Kata | None


def format_moment(moment: Moment, reference: Sequence[ScreenLine]) -> Iterator[ScreenLine]:
    """Return the lines that celebrate a solved kata, below the reference or its first lines."""
    kata = moment.kata
    yield from reference[:MOST]
    if (more := len(reference) - MOST) > 0:
        yield ScreenLine(f"({more} more {'line' if more == 1 else 'lines'}: press s)")
    yield ScreenLine()
    # A lecture of somebody else need not say it: what its episode explains comes near.
    if learned := kata.learned or next((episode.why for episode in kata.episodes), ""):
        yield from map(ScreenLine, label_paragraph("learned", learned))
    hints = f", {moment.hints} of {len(kata.hints)} hints" if moment.hints else ", no hint"
    yield ScreenLine(f"{'time':<{INDENT}}{format_duration(moment.seconds)}{hints}")
    if moment.following:
        text = f"press n: {moment.following.id}, {moment.following.title}"
        yield from map(ScreenLine, label_paragraph("next", text))
    else:
        yield ScreenLine("Nothing else is open here.")


def pair_files(kata: Kata) -> Iterator[tuple[str, str, str]]:
    """Return the name, the learner's text and the reference of each file that has a reference."""
    for file in dict.fromkeys((kata.exercise, *learners_files(kata))):
        name = file.relative_to(kata.folder)
        reference = kata.folder / "solutions" / name
        if reference.is_file():
            yield name.as_posix(), read_text(file), read_text(reference)


def read_text(file: Path) -> str:
    """Return the text of a file; an empty one if it was removed."""
    return file.read_text(encoding="utf-8", errors="replace").rstrip() if file.is_file() else ""


def strip_brief(text: str) -> str:
    """Return the text without the docstring or comment that it begins with."""
    found = BRIEF.match(text)
    return text[found.end() :] if found else text


@dataclass(frozen=True)
class Row:
    """A line of the terminal: two cells, and the mark between them."""

    left: str
    mark: Mark
    right: str

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.left} {self.mark} {self.right}".rstrip()


def side_by_side(left: str, right: str, width: int) -> Iterator[Row]:
    """Return both texts as rows of `width` columns, with wrapped lines."""
    cell = max((width - BETWEEN) // 2, NARROWEST)
    for mine, mark, other in pair_lines(printable_lines(left), printable_lines(right)):
        for one, two in zip_longest(
            wrap_cell(mine, cell), wrap_cell(other, cell), fillvalue=" " * cell
        ):
            yield Row(one, mark, two)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text, with a mark for each character that a terminal acts on."""
    lines = text.expandtabs(TAB).splitlines()
    return [
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in s) for s in lines
    ]


def pair_lines(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, Mark, str]]:
    """Return the lines that belong together; trailing blanks make no difference."""
    mine, other = ([line.rstrip() for line in lines] for lines in (left, right))
    matcher = SequenceMatcher(None, mine, other, autojunk=False)
    for _, begin, end, start, stop in matcher.get_opcodes():
        both = zip_longest(left[begin:end], right[start:stop])
        for one, two in both:
            if one is None or two is None:
                yield one or "", "<" if two is None else ">", two or ""
            else:
                yield one, " " if one.rstrip() == two.rstrip() else "|", two


def wrap_cell(line: str, width: int) -> list[str]:
    """Return `line` in pieces of `width` columns; the second and later pieces are indented."""
    line = line.rstrip()
    own = len(line) - len(line.lstrip())
    indent = " " * min(own + HANGING, width // 2)
    pieces: list[str] = []
    rest, begun = line, own
    while (end := count_fitting(rest, width)) < len(rest):
        # Break at a blank if there is one after the indent.
        blank = rest.rfind(" ", begun, end + 1)
        end = blank if blank > begun else end
        pieces.append(rest[:end].rstrip())
        rest, begun = indent + rest[end:].lstrip(), len(indent)
    return [piece + " " * (width - sum(map(count_columns, piece))) for piece in (*pieces, rest)]


def count_fitting(text: str, width: int) -> int:
    """Return how many characters of a text fit into `width` columns."""
    for place, used in enumerate(accumulate(map(count_columns, text))):
        if used > width:
            return place
    return len(text)


def count_columns(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.category(character) in COMBINING:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1
