"""``--solution`` shows the reference beside the learner's answer, once the kata is solved.

What a learner writes stands side by side, line by line, in as many columns as the terminal has.
"""

from __future__ import annotations

import textwrap
from itertools import dropwhile
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import pytest

from plugins.course.files import content_of
from plugins.course.names import name_for_pytest
from plugins.course.session import course_root
from plugins.guide.definitions import definitions
from plugins.guide.definitions import names_to_write
from plugins.guide.definitions import pair_files
from plugins.guide.untouched import text_as_given
from plugins.loop.columns import Mark
from plugins.loop.columns import side_by_side
from plugins.loop.hint import require_kata
from plugins.loop.screen import WIDTH
from plugins.loop.screen import ScreenLine
from plugins.loop.screen import wrap_line
from plugins.progress.map import format_why
from plugins.progress.map import why_away
from plugins.progress.store import current_state
from plugins.progress.store import read_standing
from plugins.tools.showing import configured


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.course.model import Kata
    from plugins.guide.definitions import Definition
    from plugins.progress.standing import Standing


SOLVED = "solved"
NOW = "now"
# The colours of the marks between the columns.
STYLES: dict[Mark, str] = {" ": "", "|": "yellow", "<": "red", ">": "green"}


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
        if value != NOW and current_state(kata, standing) != SOLVED:
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
        yield from wrap_line(
            f"{kata.id} is not solved yet: "
            + (
                f"{results.passing} tests pass."
                if state == "failing" and results.passing
                else "its tests have not passed with your current answer."
            )
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


class Comparison(NamedTuple):
    """A part of the comparison: lines that head it, and rows with both texts.

    `whole` is the line that says where the whole reference is.
    """

    head: tuple[ScreenLine, ...]
    rows: tuple[ScreenLine, ...] = ()
    whole: bool = False

    @property
    def lines(self) -> tuple[ScreenLine, ...]:
        """All of it."""
        return (*self.head, *self.rows)

    @property
    def shorter(self) -> Comparison:
        """The comparison from the first row that differs on; then its head says so."""
        rows, head = tuple(dropwhile(lambda row: not row.style, self.rows)), self.head
        if head and 0 < len(rows) < len(self.rows):
            first = ScreenLine(f"{head[0].text}, from the first difference on", head[0].style)
            head = (first, *head[1:])
        return Comparison(head, rows)


def reference_lines(kata: Kata, root: Path, width: int) -> Iterator[ScreenLine]:
    """Return what the learner writes beside the reference, in lines of at most `width` columns."""
    for part in reference_parts(kata, root, width):
        yield from part.lines


def reference_parts(kata: Kata, root: Path, width: int) -> Iterator[Comparison]:
    """Return the parts of that: for each file its name, each definition, and where all of it is.

    A learner writes what differs between the stub and the reference; the stub is in git's history
    under `root`. Docstrings, the heads of functions and what is given are left out.
    """
    for file, answer, reference in pair_files(kata):
        python = file.suffix == ".py"
        mine, other = (definitions(text, python=python) for text in (answer, reference))
        stub = text_as_given(root, file)
        given = None if stub is None else definitions(stub, python=python)
        names = names_to_write(given, mine, other)
        path = file.relative_to(kata.folder).as_posix()
        same = [each for each in names if is_same(each, mine, other)]
        differing = [each for each in names if each not in same]
        yield Comparison((ScreenLine(),))
        if differing:
            text = f"{path}: your answer on the left, the reference on the right"
            yield Comparison((ScreenLine(text, "bold"),))
        if same or not names:
            text = f"{', '.join(same) or path}: the same as the reference"
            lines = textwrap.wrap(text, min(width, WIDTH), subsequent_indent="  ")
            yield Comparison(tuple(ScreenLine(line, "green") for line in lines))
        for each in differing:
            yield compare(each, mine.get(each), other.get(each), width)
        if root in kata.folder.parents:
            where = (kata.folder / "solutions" / path).relative_to(root)
            line = ScreenLine(f"The full reference: {where.as_posix()}")
            yield Comparison((line,), whole=True)


def is_same(name: str, mine: Mapping[str, Definition], other: Mapping[str, Definition]) -> bool:
    """Whether the learner has written what the reference has under this name."""
    return name in mine and name in other and mine[name].code == other[name].code


def compare(name: str, mine: Definition | None, other: Definition | None, width: int) -> Comparison:
    """Return a definition of the learner's beside the reference's; either may be missing.

    A head that both have is its name alone.
    """
    heads = [each.shown[: each.head] if each else () for each in (mine, other)]
    cut = len(heads[0]) if heads[0] == heads[1] else 0
    left, right = (
        textwrap.dedent("\n".join(each.shown[cut:])) if each else "" for each in (mine, other)
    )
    rows = side_by_side(left, right, width)
    head = (ScreenLine(name, "bold"),) if cut else ()
    return Comparison(head, tuple(ScreenLine(row.text, STYLES[row.mark]) for row in rows))
