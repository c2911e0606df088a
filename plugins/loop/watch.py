"""``--watch`` runs the tests of a kata whenever it is saved, each time in a fork of itself.

The process that stays has imported torch, pytest and the plugins, but no kata. It runs no test:
it waits for saves and keys (`plugins.loop.events`). Each run is a fork that continues as an
ordinary pytest, under the crash guard.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import HERE
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.session import read_session_course
from plugins.crash.plugin import is_program
from plugins.loop.kata_session import OneKata
from plugins.loop.kata_session import order_key
from plugins.loop.next import choose_katas
from plugins.loop.next import choose_path
from plugins.loop.next import refuse_conflicts
from plugins.loop.next import start_walk
from plugins.loop.next import wants_next
from plugins.loop.warm import Loaded
from plugins.loop.warm import warm_up
from plugins.loop.watch_state import Desk
from plugins.loop.watcher import Saves
from plugins.progress.overview import wanted_path
from plugins.tools.showing import shows_only
from plugins.tools.terminal import install_command


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.course.model import Kata


BEGIN = "Importing torch, once: this may take a minute. Later runs start at once."
ABSENT = "--watch needs watchfiles: {}"
DEBUGGER = "--watch reads the keys that a debugger wants: leave out --watch, or --pdb and --trace"

GO = "--go is for --watch --next, which stops at each kata that you have solved"

katas_key = pytest.StashKey["Sequence[Kata]"]()


class WatchHooks:
    """The hook by which other wings prepare a run, without an import."""

    @pytest.hookspec
    def pytest_kata_before_fork(self, config: pytest.Config, kata: Kata | None) -> None:
        """Prepare a run of `kata`, in the process that stays, which forks the run next.

        ``plugins.loop.forked_run`` calls it for each run, with None for one through several
        katas. The learner waits for it, and what it raises ends ``--watch``.

        It is internal to the course, and not for packages; ``plugins.native.ahead`` implements it.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--watch",
        action="store_true",
        help="Stay, and run the tests of a kata whenever you save it; with --next, begin where you "
        "stand. Needs a terminal: elsewhere, as in CI, the tests run once.",
    )
    parser.getgroup("katas").addoption(
        "--go",
        action="store_true",
        help="With --watch --next: go on to the next kata as soon as one is solved.",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hook by which other wings prepare a run."""
    pluginmanager.add_hookspecs(WatchHooks)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Stay and fork a run each time; return None in the forks, which continue as pytest.

    An option such as ``--hint``, which runs no test, takes precedence.
    """
    option = config.option
    if option.go and not (option.watch and wants_next(config)) and not option.help:
        raise pytest.UsageError(GO)
    if not option.watch or shows_only(config):
        return None
    config.stash[katas_key] = katas = katas_to_watch(config)
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    # pytest has replaced standard input since it began to capture.
    capture.suspend(in_=True)
    if why := find_obstacle(config):
        option.watch = False
        # Without --next all tests run anyway, and these would be refused.
        goes_on = wants_next(config)
        option.all, option.path = option.all and goes_on, wanted_path(config) if goes_on else ""
        print(f"katas: {why}: the tests run once", file=sys.stderr)  # noqa: T201 - no reporter yet
        return None
    return stay(config, katas)


def katas_to_watch(config: pytest.Config) -> list[Kata]:
    """Return the katas among the arguments, and stash the course, which the runs share.

    Raises
    ------
    pytest.UsageError
        If there is none, another option contradicts ``--watch``, or watchfiles is missing.
    """
    option = config.option
    refuse_conflicts("--watch", config)
    if option.usepdb or option.trace:
        raise pytest.UsageError(DEBUGGER)
    if importlib.util.find_spec("watchfiles") is None:
        raise pytest.UsageError(ABSENT.format(install_command("-r requirements.txt")))
    return choose_katas(config, read_session_course(config), "--watch")


def find_obstacle(config: pytest.Config) -> str | None:
    """Return why the tests can only run once here; None if ``--watch`` can stay."""
    invocation = config.invocation_params
    program = not invocation.plugins and is_program(sys.argv, invocation.args)
    reasons = (
        (not hasattr(os, "fork"), "--watch needs os.fork, which this system lacks"),
        (bool(os.environ.get("CI")), "--watch is for a person, and CI is set"),
        (not (os.isatty(0) and os.isatty(1)), "--watch needs a terminal"),
        (not program, "--watch is for the command line, and another program runs pytest"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def stay(config: pytest.Config, katas: Sequence[Kata]) -> int | None:
    """Import the slow modules and wait; return the status at the end, None in a fork."""
    # These need termios, or what else Windows lacks; each run is guarded by the first.
    import plugins.crash.parent  # noqa: F401, PLC0415
    from plugins.loop.events import FORK  # noqa: PLC0415
    from plugins.loop.events import Loop  # noqa: PLC0415
    from plugins.loop.forked_run import print_lines  # noqa: PLC0415

    root, start, course = (
        course_root(config),
        config.invocation_params.dir,
        config.stash[course_key],
    )
    folders = {lecture.folder.parent for lecture in course.lectures}
    saves = Saves([HERE, *sorted(folders)])
    try:
        print_lines([BEGIN])
        warm_up(course)
    except KeyboardInterrupt:
        saves.stop()
        return pytest.ExitCode.INTERRUPTED
    tables = [lecture.folder / "lecture.toml" for lecture in course.lectures]
    loaded = Loaded(root, [*tables, *([config.inipath] if config.inipath else [])])
    moving, flying = wants_next(config), bool(config.option.go)
    path = choose_path(config, katas)
    desk = Desk(root, start, course, katas, moving=moving, flying=flying, path=path)
    status = Loop(config, desk, saves, loaded).go_on()
    return None if status == FORK else status


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Run one kata, if this process is a fork with that order."""
    order = config.stash.get(order_key, None)
    if order and order.kata:
        katas = config.stash[katas_key]
        path = choose_path(config, katas)
        counted = [kata for kata in katas if kata in path or kata == order.kata]
        start_walk(config, OneKata(config, counted, order.kata, order.away))
