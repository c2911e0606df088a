"""``--next`` runs one kata after the other and stops at the first that is not solved.

Katas known to be solved do not run again. A kata is imported only when its turn comes, and of a
kata that fails only the first failing test is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.course.names import UnknownNameError
from plugins.course.names import katas_named
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.session import katas_among
from plugins.crash.plugin import is_distributed
from plugins.loop.kata_session import Walk
from plugins.progress.order import core_path
from plugins.progress.order import optional_left
from plugins.progress.order import order_katas
from plugins.progress.order import postpone
from plugins.progress.overview import find_path
from plugins.progress.overview import wanted_path
from plugins.progress.plugin import learners_own
from plugins.progress.standing import DONE
from plugins.progress.store import change_bookmark
from plugins.progress.store import read_bookmark
from plugins.progress.store import states_of
from plugins.tools.files import why_nothing_is_kept


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Course
    from plugins.course.model import Kata
    from plugins.progress.store import Bookmark


ALL = "--all is for --next and --watch, which leave optional katas out; pytest runs all tests"
PATH = "--path is for --next, --watch and --course: pytest katas --next --path {}"
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
        "--all",
        action="store_true",
        help="With --next: take the optional katas too, and not the core path alone.",
    )
    group.addoption(
        "--from",
        metavar="NAME",
        help="With --next: begin with this lecture or kata: lecture10, lecture10/k05_interpreter.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the katas, before any is built or shown, and hand the session to a `Walk`."""
    if not wants_next(config):
        refuse_alone(config)
        return
    refuse_conflicts("--next", config)
    root = course_root(config)
    every = choose_katas(config, config.stash[course_key])
    katas = choose_path(config, every)
    skipping = bool(config.option.skip)
    states = states_of(root, every)
    unsolved = [kata for kata in katas if states[kata.id] != "solved"]
    bookmark = skip_shown_kata(root, unsolved) if skipping else read_bookmark(root)
    # They are tried all the same: the learner may have got what they need.
    away = {name for name, state in states.items() if state == "unavailable"}
    walk = Walk(config, katas, order_katas(unsolved, bookmark.skipped, away))
    walk.teller.unavailable = away
    done = {name for name, state in states.items() if state in DONE}
    walk.teller.optional = optional_left(every, katas, done)
    walk.teller.skipped = bookmark.shown if skipping else ""
    start_walk(config, walk)


def wants_next(config: pytest.Config) -> bool:
    """Whether to go from kata to kata; ``--skip`` and ``--from`` mean ``--next`` too."""
    option = config.option
    return bool(option.next or option.skip or getattr(option, "from")) and not option.help


def refuse_alone(config: pytest.Config) -> None:
    """Refuse ``--all`` and ``--path`` where no kata follows another.

    Raises
    ------
    pytest.UsageError
        If neither ``--next`` nor ``--watch`` is there.
    """
    option = config.option
    if option.help or getattr(option, "watch", False):
        return
    if option.all:
        raise pytest.UsageError(ALL)
    if path := wanted_path(config):
        raise pytest.UsageError(PATH.format(path))


def refuse_conflicts(name: str, config: pytest.Config) -> None:
    """Refuse other options that contradict the option `name`, which runs one kata at a time.

    Raises
    ------
    pytest.UsageError
        If the run uses answers other than the learner's, or several processes.
    """
    if not learners_own(config) or is_distributed(config) or hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"{name} runs your own answers, one kata at a time:"
            " leave out --solutions, --unsolved and -n"
        )


def choose_katas(config: pytest.Config, course: Course, option: str = "--next") -> list[Kata]:
    """Return the katas among the arguments: those of ``--path``, and from that of ``--from`` on.

    Raises
    ------
    pytest.UsageError
        If there is none, or there is no such path, or the kata of ``--from`` is not among them.
    """
    katas = katas_among(course, config.args, config.invocation_params.dir)
    if not katas:
        raise pytest.UsageError("; ".join([WANTED.replace("--next", option), *course.errors]))
    if wanted_path(config):
        katas = katas_on_path(config, course, katas)
    first = getattr(config.option, "from")
    if not first:
        return katas
    try:
        named = katas_named(course, first)
    except UnknownNameError as error:
        raise pytest.UsageError(f"--from: {error}") from None
    here = next((kata for kata in named if kata in katas), None)
    if here is None:
        raise pytest.UsageError(f"--from: {first} is not among the katas of this command")
    return katas_from(katas, here)


def katas_on_path(config: pytest.Config, course: Course, katas: Iterable[Kata]) -> list[Kata]:
    """Return those of the katas that are on the path of ``--path``.

    Raises
    ------
    pytest.UsageError
        If there is no such path, or none of the katas is on it.
    """
    path = find_path(course, course_root(config), wanted_path(config))
    ids = {kata.id for kata in path.katas}
    found = [kata for kata in katas if kata.id in ids]
    if not found:
        raise pytest.UsageError(f"--path: no kata of {path.name} is among those of this command")
    return found


def choose_path(config: pytest.Config, katas: Sequence[Kata]) -> list[Kata]:
    """Return those of the katas that are taken one after the other: the core path, or ``--all``.

    An optional kata that ``--from`` names is taken too, and all those of ``--path``.
    """
    if config.option.all or wanted_path(config):
        return list(katas)
    first = getattr(config.option, "from")
    named = katas_named(config.stash[course_key], first) if first else []
    return core_path(katas, named[0] if len(named) == 1 else None)


def katas_from(katas: Sequence[Kata], first: Kata) -> list[Kata]:
    """Return `first` and the katas after it."""
    ids = [kata.id for kata in katas]
    return list(katas[ids.index(first.id) :])


def skip_shown_kata(root: Path, left: Sequence[Kata]) -> Bookmark:
    """Put the kata that was shown last behind others of those left, and return the new bookmark.

    Raises
    ------
    pytest.UsageError
        If ``--next`` has shown none yet.
    """

    def change(old: Bookmark) -> Bookmark:
        if not old.shown:
            lost = why_nothing_is_kept(root)
            how = f"{lost}, so use --from instead" if lost else "run --next first"
            raise pytest.UsageError(f"--skip leaves out what --next has shown; {how}")
        shown = next((kata for kata in left if kata.id == old.shown), None)
        return replace(old, skipped=postpone(old.skipped, shown, left)) if shown else old

    return change_bookmark(root, change)


def start_walk(config: pytest.Config, walk: Walk) -> None:
    """Register `walk`, which then runs the tests and writes all that the terminal shows."""
    # `plugins.native.plugin` builds the katas in config.args ahead: only the first is needed.
    config.args = [str(kata.test) for kata in walk.waiting[:1]] or config.args
    option = config.option
    option.verbose, option.no_header, option.no_summary, option.maxfail = -2, True, True, 0
    option.tbstyle = "short" if option.tbstyle == "auto" else option.tbstyle
    config.pluginmanager.register(walk)
