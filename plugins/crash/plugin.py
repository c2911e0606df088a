"""The crash guard: no bug of a learner's ends the session; a crash or a hang is one failed test.

pytest forks before it imports anything heavy. The child runs the session on the same terminal and
keeps a journal; if it dies, the parent forks again, and the new child replays the earlier reports,
reports the crash and continues. xdist replaces its own workers, which are watched from here.

There is no guard where it would be of no use or in the way: `why_unguarded` has the cases.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.limits import memory_limit
from plugins.course.limits import time_limit
from plugins.course.session import course_root
from plugins.crash.interrupts import listen
from plugins.tools.processes import end_daemons
from plugins.tools.showing import shows_only


if TYPE_CHECKING:
    from collections.abc import Sequence


RESTARTS = "50"

unguarded_key = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that turns the guard off."""
    parser.getgroup("katas").addoption(
        "--no-crashguard",
        dest="crashguard",
        action="store_false",
        help="Let a crash of a kata end pytest, as it does elsewhere.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Fork, and exit in the parent; pytest goes on in the child, or here if there is no guard."""
    config.stash[unguarded_key] = reason = why_unguarded(config)
    if reason:
        return
    # Neither does a module that cannot be imported keep the others from running.
    config.option.continue_on_collection_errors = True
    if is_distributed(config):
        # By default xdist gives up after four crashes for each worker.
        config.option.maxworkerrestart = config.option.maxworkerrestart or RESTARTS
        return
    from plugins.crash.parent import guard_session  # noqa: PLC0415 - not on Windows

    guard_session(config, time_limit(config), memory_limit(config))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Listen to Ctrl-C; watch the workers of xdist, or keep a journal in this one."""
    if not shows_only(config):
        listen(config, leaves=not hasattr(config, "workerinput") and runs_alone(config))
    if hasattr(config, "workerinput"):
        from plugins.crash.workers import prepare_worker  # noqa: PLC0415 - sessions without xdist

        prepare_worker(config, time_limit(config))
    elif is_distributed(config) and config.stash.get(unguarded_key, "") is None:
        from plugins.crash.workers import Controller  # noqa: PLC0415 - sessions without xdist

        config.pluginmanager.register(Controller(memory_limit(config, len(config.option.tx))))


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """End what tests have left running before pytest collects garbage.

    An iterator of a DataLoader that is garbage waits 5 s for each of its workers, since they do not
    hear from it any more: the queues to them may be cleared before it.
    """
    end_daemons()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Give the reason, with -v, why there is no guard."""
    reason = config.stash.get(unguarded_key, None)
    return f"crash guard: off ({reason})" if reason and config.get_verbosity() > 0 else None


def why_unguarded(config: pytest.Config) -> str | None:
    """Return why this session runs without the guard, or None if it runs with it."""
    reasons = (
        (not config.option.crashguard, "--no-crashguard"),
        (not hasattr(os, "fork"), "this system cannot fork"),
        (shows_only(config), "no test runs"),
        (not runs_alone(config), "another program runs pytest"),
        (is_debugged(), "a debugger is attached"),
        (
            not any(names_katas(path, course_root(config)) for path in argument_paths(config)),
            "no lecture is among the arguments",
        ),
    )
    return next((reason for applies, reason in reasons if applies), None)


def is_distributed(config: pytest.Config) -> bool:
    """Whether xdist runs the tests in workers."""
    return bool(config.getoption("numprocesses", None) or config.getoption("tx", None))


def runs_alone(config: pytest.Config) -> bool:
    """Whether this process was started as pytest, and nothing else has a use for it."""
    invocation = config.invocation_params
    return not invocation.plugins and is_program(sys.argv, invocation.args)


def is_program(argv: Sequence[str], args: Sequence[str]) -> bool:
    """Whether this process was started as pytest with these arguments, and so may fork."""
    program = Path(argv[0])
    # The script, or `python -m pytest`.
    named = program.name in {"pytest", "py.test"} or program.parts[-2:] == ("pytest", "__main__.py")
    return named and list(argv[1:]) == list(args)


def is_debugged() -> bool:
    """Whether a debugger follows this process; it would not follow the child."""
    tracer = getattr(sys.gettrace(), "__self__", None)
    return "pydevd" in sys.modules or isinstance(tracer, getattr(sys.modules.get("bdb"), "Bdb", ()))


def argument_paths(config: pytest.Config) -> list[Path]:
    """Return the paths among the arguments of the session."""
    start = config.invocation_params.dir
    return [(start / argument.partition("::")[0]).resolve() for argument in config.args]


def names_katas(path: Path, root: Path) -> bool:
    """Whether `path` is in a lecture, or katas/ is in it."""
    katas = root / "katas"
    return (
        path.is_relative_to(katas)
        or katas.is_relative_to(path)
        or any((folder / "lecture.toml").exists() for folder in (path, *path.parents))
    )
