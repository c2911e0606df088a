"""``--solution`` shows the reference beside the learner's answer, once the kata is solved.

What a learner writes stands side by side, line by line, in as many columns as the terminal has.
"""

from __future__ import annotations

import textwrap
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
from plugins.course.names import name_for_pytest
from plugins.course.session import course_root
from plugins.guide.definitions import definitions
from plugins.guide.definitions import names_to_write
from plugins.guide.definitions import pair_files
from plugins.guide.untouched import text_as_given
from plugins.loop.hint import require_kata
from plugins.loop.screen import ScreenLine
from plugins.progress.map import format_why
from plugins.progress.map import why_away
from plugins.progress.store import read_standing
from plugins.tools.showing import configured


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.guide.definitions import Definition
    from plugins.progress.standing import Standing


SOLVED = "solved"
NOW = "now"
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
        show_reference(reporter, kata, root)
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


def show_reference(reporter: Any, kata: Kata, root: Path) -> None:
    """Write what is to be written in each file of the kata beside its reference."""
    reporter.line(f"{kata.id}: {kata.title}", bold=True)
    # The terminal's, $COLUMNS or 80.
    for line in reference_lines(kata, root, reporter.config.get_terminal_writer().fullwidth):
        reporter.line(line.text, **({line.style: True} if line.style else {}))


def reference_lines(kata: Kata, root: Path, width: int) -> Iterator[ScreenLine]:
    """Return what the learner writes beside the reference, in lines of at most `width` columns.

    That is what differs between the stub and the reference; the stub is in git's history under
    `root`. Docstrings, and what is given, are left out.
    """
    for file, answer, reference in pair_files(kata):
        python = file.suffix == ".py"
        mine, other = (definitions(text, python=python) for text in (answer, reference))
        stub = text_as_given(root, file)
        given = None if stub is None else definitions(stub, python=python)
        names = names_to_write(given, mine, other)
        name = file.relative_to(kata.folder).as_posix()
        same = {each for each in names if is_same(each, mine, other)}
        yield ScreenLine()
        if not names:
            yield ScreenLine(f"{name}: the same as the reference", "green")
        elif len(same) < len(names):
            yield ScreenLine(f"{name}: your answer on the left, the reference on the right", "bold")
        for each in names:
            if each in same:
                yield ScreenLine(f"{each}: the same as the reference", "green")
            else:
                yield from compare(each, mine, other, width)
        if root in kata.folder.parents:
            where = (kata.folder / "solutions" / name).relative_to(root)
            yield ScreenLine(f"The whole of it: {where.as_posix()}")


def is_same(name: str, mine: Mapping[str, Definition], other: Mapping[str, Definition]) -> bool:
    """Whether the learner has written what the reference has under this name."""
    return name in mine and name in other and mine[name].code == other[name].code


def compare(
    name: str, mine: Mapping[str, Definition], other: Mapping[str, Definition], width: int
) -> Iterator[ScreenLine]:
    """Return a definition of the learner's beside the reference's; either may be missing."""
    left, right = (
        textwrap.dedent("\n".join(text[name].shown)) if name in text else ""
        for text in (mine, other)
    )
    rows = side_by_side(left, right, width)
    yield from (ScreenLine(row.text, STYLES[row.mark]) for row in rows)


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
