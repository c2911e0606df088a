"""``--hint`` shows the next hint of a kata instead of running it, and remembers which it was."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from plugins.course import course_key
from plugins.hintcounts import change_count
from plugins.names import UnknownNameError
from plugins.names import katas_named
from plugins.showing import configured


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.layout import Course
    from plugins.layout import Kata


NEXT = "next"
ALL = "all"
EXAMPLE = "pytest katas/lecture04/test_k01_schema.py"
WIDTH = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--hint",
        nargs="?",
        const=NEXT,
        metavar="all",
        help="Show one more hint for the kata named on the command line; --hint=all shows all.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Print the hint and end: no kata is imported, none is run."""
    wanted = config.getoption("hint")
    if wanted is None or config.option.help:
        return None
    # In `pytest --hint PATH`, argparse takes PATH for the option's value.
    arguments = [*config.args] if wanted in {NEXT, ALL} else [wanted]
    with configured(config):
        kata = the_kata("--hint", config, arguments)
        everything, total = wanted == ALL, len(kata.hints)

        def one_more(count: int) -> int:
            return total if everything else min(count + 1, total)

        shown = change_count(config.rootpath, kata.id, one_more)
        print(text(kata, shown, everything=everything))  # noqa: T201 - the answer
    return 0


def the_kata(option: str, config: pytest.Config, arguments: Sequence[str]) -> Kata:
    """Return the one kata that the arguments name.

    Raises
    ------
    pytest.UsageError
        If they name none, or more than one: what the option wants, or what there is.
    """
    try:
        kata = named_kata(config.stash[course_key], config.invocation_params.dir, arguments)
    except UnknownNameError as error:
        raise pytest.UsageError(f"{option}: {error}") from None
    if kata is None:
        raise pytest.UsageError(f"{option} wants the test file of one kata: {EXAMPLE} {option}")
    return kata


def named_kata(course: Course, start: Path, arguments: Sequence[str]) -> Kata | None:
    """Return the one kata whose test file or exercise the arguments name; None if they are more.

    Raises
    ------
    UnknownNameError
        If the one argument is no kata at all; it says what there is.
    """
    paths = {(start / argument.partition("::")[0]).resolve() for argument in arguments}
    katas = [
        kata
        for lecture in course.lectures
        for kata in lecture.katas
        if paths & {kata.test.resolve(), kata.exercise.resolve()}
    ]
    if not katas and len(paths) == 1 and not any(path.exists() for path in paths):
        # What has no file may be mistyped, or ``lecture04/k03``.
        katas = katas_named(course, arguments[0])
    return katas[0] if len(katas) == 1 else None


def text(kata: Kata, shown: int, *, everything: bool = False) -> str:
    """Return what to print when the hint number `shown`, counted from 1, is asked for."""
    total = len(kata.hints)
    first = 1 if everything else min(shown, total)
    lines = [f"{kata.id}: {kata.title}"]
    for number in range(first, min(shown, total) + 1):
        hint = f"Hint {number} of {total}: {kata.hints[number - 1]}"
        lines.append(textwrap.fill(hint, WIDTH))
    if shown < total:
        lines.append(f"{total - shown} more: the same command again, or --hint=all.")
    else:
        exercise = kata.exercise.relative_to(kata.folder)
        lines.append(f"No more hints. The reference: {kata.folder.name}/solutions/{exercise}")
    return "\n".join(lines)
