"""``--solution`` shows the reference beside the learner's answer, once the kata is solved."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.hints import the_kata
from plugins.memory import recall
from plugins.showing import configured
from plugins.sidebyside import side_by_side
from plugins.standing import content_of
from plugins.standing import learners_files


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from plugins.layout import Kata
    from plugins.standing import Standing


SOLVED = "solved"
NOW = "now"
# What the learner has read already: the docstring of a module, the first comment of a source.
BRIEF = re.compile(r'\s*(?:r?""".*?"""|(?://[^\n]*(?:\n|$))+)\s*', re.DOTALL)
MARKUP = {" ": {}, "|": {"yellow": True}, "<": {"red": True}, ">": {"green": True}}


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
    """Show both and end: no kata is imported, none is run."""
    wanted = config.getoption("solution")
    if wanted is None or config.option.help:
        return None
    # In `pytest --solution PATH`, argparse takes PATH for the option's value.
    arguments = [*config.args] if wanted in {SOLVED, NOW} else [wanted]
    with configured(config):
        start = config.invocation_params.dir
        kata = the_kata("--solution", config, arguments)
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        standing = recall(config.rootpath, kata)
        if wanted != NOW and standing.state(content_of(kata)) != SOLVED:
            for line in not_yet(kata, standing, os.path.relpath(kata.test, start)):
                reporter.line(line)
            return int(pytest.ExitCode.TESTS_FAILED)
        show(reporter, kata)
    return 0


def not_yet(kata: Kata, standing: Standing, test: str) -> Iterator[str]:
    """Return why the reference is not shown."""
    known = standing.states.get(content_of(kata)) == "failing"
    passed, total = standing.results.count("passed"), len(standing.results.tests)
    yield f"{kata.id} is not solved yet: " + (
        f"{passed} of {total} tests pass." if known else "its tests have not passed as it is now."
    )
    yield f"  Run them:               pytest {test} -x"
    yield f"  The reference at once:  pytest {test} --solution=now"


def show(reporter: Any, kata: Kata) -> None:
    """Write each file of the kata beside its reference."""
    reporter.line(f"{kata.id}: {kata.title}", bold=True)
    for name, mine, reference in pairs(kata):
        reporter.line("")
        reporter.line(f"{name}: your answer on the left, the reference on the right", bold=True)
        width = reporter._tw.fullwidth  # noqa: SLF001 - of the terminal, $COLUMNS or 80
        rows = list(side_by_side(without_brief(mine), without_brief(reference), width))
        if all(row.mark == " " for row in rows):
            reporter.line("They are the same.", green=True)
            continue
        for row in rows:
            reporter.line(row.text, **MARKUP[row.mark])


def pairs(kata: Kata) -> Iterator[tuple[str, str, str]]:
    """Return the name, the learner's text and the reference of each file that has a reference."""
    for file in dict.fromkeys((kata.exercise, *learners_files(kata))):
        name = file.relative_to(kata.folder)
        reference = kata.folder / "solutions" / name
        if reference.is_file():
            yield name.as_posix(), text_of(file), text_of(reference)


def text_of(file: Path) -> str:
    """Return the text of a file; none if it was removed."""
    return file.read_text(encoding="utf-8", errors="replace").rstrip() if file.is_file() else ""


def without_brief(text: str) -> str:
    """Return the text without the docstring or the comment that it begins with."""
    found = BRIEF.match(text)
    return text[found.end() :] if found else text
