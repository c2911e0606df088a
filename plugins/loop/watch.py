"""``--watch`` stays and runs the tests of a kata whenever it is saved, in a fork of itself.

The process that stays has imported torch, pytest and the plugins, but no kata, and runs no test:
it waits for saves and keys (`plugins.watchloop`). Each run is a fork that goes on as any pytest
does, under the crash guard like any other.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.aside import NO_TESTS
from plugins.aside import is_program
from plugins.course import course_key
from plugins.course import read
from plugins.nextkata import asked
from plugins.nextkata import chosen
from plugins.nextkata import one_by_one
from plugins.nextkata import walk_in
from plugins.onekata import OneKata
from plugins.orders import kata_key
from plugins.prebuild import SHOW
from plugins.saves import Saves
from plugins.warm import Loaded
from plugins.warm import warm_up
from plugins.watchdesk import Desk


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.layout import Kata


BEGIN = "Importing torch; from then on each run is a fork of this process."
ABSENT = "--watch needs watchfiles: python -m pip install -r requirements.txt"
DEBUGGER = "--watch reads the keys that a debugger wants: leave out --watch, or --pdb and --trace"

katas_key = pytest.StashKey["Sequence[Kata]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--watch",
        action="store_true",
        help="Stay, and run the tests of a kata whenever you save it; with --next, go on when it "
        "is solved. Needs a terminal: elsewhere, as in CI, the tests run once.",
    )


def why_once(config: pytest.Config) -> str | None:
    """Return why nothing interactive can start here, or None if it can."""
    invocation = config.invocation_params
    program = not invocation.plugins and is_program(sys.argv, invocation.args)
    reasons = (
        (not hasattr(os, "fork"), "--watch forks, which this system cannot"),
        (bool(os.environ.get("CI")), "--watch is for a person, and CI is set"),
        (not (os.isatty(0) and os.isatty(1)), "--watch needs a terminal"),
        (not program, "--watch is for the command line, and another program runs pytest"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def katas_to_watch(config: pytest.Config) -> list[Kata]:
    """Return the katas among the arguments, and note the course, which the runs share.

    Raises
    ------
    pytest.UsageError
        If there is none, or something else is asked for that cannot be together with it.
    """
    option = config.option
    one_by_one("--watch", config)
    if option.usepdb or option.trace:
        raise pytest.UsageError(DEBUGGER)
    if importlib.util.find_spec("watchfiles") is None:
        raise pytest.UsageError(ABSENT)
    first = getattr(option, "from")
    return chosen(read(config), config.args, config.invocation_params.dir, first, "--watch")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Wait, and fork a run each time; the forks, and what shows something only, go on as usual."""
    option = config.option
    shows = any(getattr(option, name, None) for name in (*NO_TESTS, *SHOW))
    if not option.watch or shows:
        return None
    config.stash[katas_key] = katas = katas_to_watch(config)
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    # It has kept the keyboard away since pytest began.
    capture.suspend(in_=True)
    if why := why_once(config):
        option.watch = False
        print(f"katas: {why}: the tests run once", file=sys.stderr)  # noqa: T201 - no reporter yet
        return None
    return stay(config, katas)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Run one kata, if that is what this fork was made for."""
    if kata := config.stash.get(kata_key, None):
        walk_in(config, OneKata(config, config.stash[katas_key], kata))


def stay(config: pytest.Config, katas: Sequence[Kata]) -> int | None:
    """Import what takes long, and wait; return the status at the end, None in a fork."""
    # Not on Windows.
    from plugins.watchloop import FORK  # noqa: PLC0415
    from plugins.watchloop import Loop  # noqa: PLC0415
    from plugins.watchrun import say  # noqa: PLC0415

    root, start, course = config.rootpath, config.invocation_params.dir, config.stash[course_key]
    folders = {lecture.folder.parent for lecture in course.lectures}
    saves = Saves([Path(__file__).parent, *sorted(folders)])
    try:
        say([BEGIN])
        warm_up()
    except KeyboardInterrupt:
        saves.stop()
        return pytest.ExitCode.INTERRUPTED
    tables = [lecture.folder / "lecture.toml" for lecture in course.lectures]
    loaded = Loaded(root, [*tables, *([config.inipath] if config.inipath else [])])
    desk = Desk(root, start, course, katas, moving=asked(config))
    status = Loop(config, desk, saves, loaded).go_on()
    return None if status == FORK else status
