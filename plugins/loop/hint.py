"""``--hint`` shows one more hint for a kata, and runs nothing; the number shown is stored.

Where it cannot be stored, as in a read-only checkout, ``--hint=2`` asks for the next one by number.
"""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest

from plugins.course.names import UnknownNameError
from plugins.course.names import katas_named
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.guide.episodes import catalogue_of
from plugins.guide.reading import format_reading
from plugins.guide.reading import reading_of
from plugins.guide.reading import torch_tag
from plugins.progress.store import change_count
from plugins.tools.files import why_nothing_is_kept
from plugins.tools.showing import configured


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata


NEXT = "next"
ALL = "all"
EXAMPLE = "pytest katas/lecture04/test_k01_answer.py"
WIDTH = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--hint",
        nargs="?",
        const=NEXT,
        metavar="all",
        help="Show one more hint for the kata named on the command line; --hint=all shows all, "
        "--hint=2 the second.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Print the hint and end the session: no kata is imported or run."""
    value = config.getoption("hint")
    if value is None or config.option.help:
        return None
    # In `pytest --hint PATH`, argparse takes PATH for the option's value.
    arguments = [*config.args] if value in {NEXT, ALL} or value.isdecimal() else [value]
    with configured(config):
        kata = require_kata("--hint", config, arguments)
        # 0: the one after those that were shown.
        asked = int(value) if value.isdecimal() else len(kata.hints) if value == ALL else 0
        root = course_root(config)
        taken = take_hint(root, kata, asked)
        text = format_hints(
            kata,
            asked or taken,
            config.invocation_params.dir,
            everything=value == ALL,
            lost=why_nothing_is_kept(root),
        )
        # A screen of --next has no room for the addresses.
        reading = reading_of(kata, kata.episodes, catalogue_of(config), torch_tag(), "")
        lines = format_reading(reading, links=False)
        print("\n".join([text, *([""] if lines else []), *lines]))  # noqa: T201 - the answer
    return 0


def take_hint(root: Path, kata: Kata, asked: int = 0) -> int:
    """Store that one more hint is shown, or the one asked for; return how many were taken."""
    total = len(kata.hints)
    return change_count(root, kata.id, lambda count: max(count, min(asked or count + 1, total)))


def require_kata(option: str, config: pytest.Config, arguments: Sequence[str]) -> Kata:
    """Return the one kata that the arguments of `option` name.

    Raises
    ------
    pytest.UsageError
        If they name no kata, or several. The message shows an example, or similar names.
    """
    try:
        kata = find_kata(config.stash[course_key], config.invocation_params.dir, arguments)
    except UnknownNameError as error:
        raise pytest.UsageError(f"{option}: {error}") from None
    if kata is None:
        raise pytest.UsageError(f"{option} wants the test file of one kata: {EXAMPLE} {option}")
    return kata


def find_kata(course: Course, start: Path, arguments: Sequence[str]) -> Kata | None:
    """Return the one kata whose test file, exercise or name the arguments are, else None.

    Raises
    ------
    UnknownNameError
        If the only argument is neither a file nor the name of a kata.
    """
    paths = {(start / argument.partition("::")[0]).resolve() for argument in arguments}
    katas = [
        kata for kata in course.katas if paths & {kata.test.resolve(), kata.exercise.resolve()}
    ]
    if not katas and len(paths) == 1 and not any(path.exists() for path in paths):
        # Not a file: a name such as ``lecture04/k03``, or a typing error.
        katas = katas_named(course, arguments[0])
    return katas[0] if len(katas) == 1 else None


def format_hints(
    kata: Kata,
    shown: int,
    start: Path,
    *,
    everything: bool = False,
    lost: str = "",
    again: str = "the same command again, or --hint=all",
) -> str:
    """Return the hint number `shown`, counted from 1, or with `everything` all up to it.

    `again` says how to get the next one, `lost` why the number cannot be remembered, and `start`
    is the learner's folder.
    """
    total = len(kata.hints)
    first = 1 if everything else min(shown, total)
    lines = [f"{kata.id}: {kata.title}"]
    for number in range(first, min(shown, total) + 1):
        hint = f"Hint {number} of {total}: {kata.hints[number - 1]}"
        lines.append(textwrap.fill(hint, WIDTH))
    if shown < total:
        if lost:
            again = f"--hint={shown + 1}, or --hint=all"
        why = f" ({lost}, so nothing is remembered)" if lost else ""
        lines.append(textwrap.fill(f"{total - shown} more: {again}.{why}", WIDTH))
    else:
        exercise = kata.exercise.relative_to(kata.folder)
        reference = os.path.relpath(kata.folder / "solutions" / exercise, start)
        lines.append(f"No more hints. The reference: {reference}")
    return "\n".join(lines)
