"""``--next`` runs one kata after the other and stops at the first that is not solved.

What is known to be solved does not run again. A kata is imported when its turn has come, and of
the one that fails only the first failing test is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.bookmark import change_bookmark
from plugins.bookmark import read_bookmark
from plugins.course import course_key
from plugins.course import katas_among
from plugins.crashguard import distributed
from plugins.names import UnknownNameError
from plugins.names import katas_named
from plugins.order import skip
from plugins.order import starting_at
from plugins.progress import learners_own
from plugins.walk import Walk


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from plugins.bookmark import Bookmark
    from plugins.layout import Course
    from plugins.layout import Kata


WANTED = "--next wants katas: pytest katas --next, or pytest katas/lecture04 --next"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("katas")
    group.addoption(
        "--next",
        action="store_true",
        help="Run katas from where you stand, and stop at the first failing test of the first "
        "that is not solved.",
    )
    group.addoption(
        "--skip",
        action="store_true",
        help="With --next: leave the kata that was shown last for later, after the others.",
    )
    group.addoption(
        "--from",
        metavar="NAME",
        help="With --next: begin with this lecture or kata: lecture10, lecture10/k03_shapes.",
    )


def asked(config: pytest.Config) -> bool:
    """Whether one of the options is given; ``--skip`` and ``--from`` mean ``--next`` too."""
    option = config.option
    return bool(option.next or option.skip or getattr(option, "from")) and not option.help


def pytest_configure(config: pytest.Config) -> None:
    """Choose the katas, before any is built or shown, and keep the terminal for them."""
    if not asked(config):
        return
    one_by_one("--next", config)
    start = config.invocation_params.dir
    katas = chosen(config.stash[course_key], config.args, start, config.getoption("from"))
    skipping = bool(config.option.skip)
    bookmark = (skipped_one if skipping else read_bookmark)(config.rootpath)
    walk = Walk(config, katas, bookmark)
    walk.teller.skipped = bookmark.shown if skipping else ""
    walk_in(config, walk)


def one_by_one(option: str, config: pytest.Config) -> None:
    """Refuse what cannot be meant together with an option that goes from kata to kata.

    Raises
    ------
    pytest.UsageError
        If others' answers shall run, or several processes.
    """
    if not learners_own(config) or distributed(config) or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"{option} runs your own answers, one kata at a time:"
            " leave out --solutions, --unsolved and -n"
        )


def walk_in(config: pytest.Config, walk: Walk) -> None:
    """Let `walk` be what this session does, and all that the terminal shows."""
    # What is built beside the run, from its start, is the kata that comes first.
    config.args = [str(kata.test) for kata in walk.waiting[:1]] or config.args
    option = config.option
    option.verbose, option.no_header, option.no_summary, option.maxfail = -2, True, True, 0
    option.tbstyle = "short" if option.tbstyle == "auto" else option.tbstyle
    config.pluginmanager.register(walk)


def chosen(
    course: Course, args: Iterable[str], start: Path, first: str | None, option: str = "--next"
) -> list[Kata]:
    """Return the katas among the arguments, from the one called `first` on."""
    katas = katas_among(course, args, start)
    if not katas:
        raise pytest.UsageError("; ".join([WANTED.replace("--next", option), *course.errors]))
    if not first:
        return katas
    try:
        named = katas_named(course, first)
    except UnknownNameError as error:
        raise pytest.UsageError(f"--from: {error}") from None
    here = next((kata for kata in named if kata in katas), None)
    if here is None:
        raise pytest.UsageError(f"--from: {first} is not among the katas of this command")
    return starting_at(katas, here)


def skipped_one(root: Path) -> Bookmark:
    """Put the kata that was shown last behind the others."""

    def change(old: Bookmark) -> Bookmark:
        if not old.shown:
            raise pytest.UsageError("--skip leaves out what --next has shown; run --next first")
        return replace(old, skipped=tuple(skip(old.skipped, old.shown)))

    return change_bookmark(root, change)
