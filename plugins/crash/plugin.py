"""No bug of a learner's ends the session: a crash or a hang is one failed test.

pytest forks before it imports anything heavy. The child runs the session on the same terminal and
keeps a journal; if it dies, the parent forks again, and the new child replays what was reported,
reports the crash, and goes on. Workers of xdist are replaced by xdist and watched from here.
"""

from __future__ import annotations

import pytest

from plugins.aside import why_aside
from plugins.watchdog import allowance
from plugins.watchdog import physical_memory


RESTARTS = "50"

aside_key = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that turns the guard off, and its limits."""
    parser.getgroup("katas").addoption(
        "--no-crashguard",
        dest="crashguard",
        action="store_false",
        help="Let a crash of a kata end pytest, as it does elsewhere.",
    )
    parser.addini(
        "kata_timeout",
        "Seconds after which a test of a kata, or its import, is stopped (0: never).",
        type="float",
        default=60.0,
    )
    parser.addini(
        "kata_memory",
        "Share of this machine's memory that the katas may take (0%: any).",
        default="50%",
    )


def time_limit(config: pytest.Config) -> float | None:
    """Return the seconds that a test may take; None where a person may sit in a debugger."""
    if config.getoption("usepdb", default=False) or config.getoption("trace", default=False):
        return None
    return float(config.getini("kata_timeout")) or None


def memory_limit(config: pytest.Config, processes: int = 1) -> int:
    """Return the bytes that one of so many processes may take."""
    try:
        return allowance(config.getini("kata_memory"), physical_memory(), processes)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Fork, and answer for the child; in the child, or without the guard, pytest goes on."""
    config.stash[aside_key] = aside = why_aside(config)
    if aside:
        return
    # A module that cannot be imported does not keep the others from running either.
    config.option.continue_on_collection_errors = True
    if distributed(config):
        # By default xdist gives up after four crashes for each worker.
        config.option.maxworkerrestart = config.option.maxworkerrestart or RESTARTS
        return
    from plugins.guardian import guard  # noqa: PLC0415 - not on Windows

    guard(config, time_limit(config), memory_limit(config))


def distributed(config: pytest.Config) -> bool:
    """Whether xdist runs the tests in workers."""
    return bool(config.getoption("numprocesses", None) or config.getoption("tx", None))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and take part in what xdist does."""
    config.addinivalue_line(
        "markers", "time_limit(seconds): this test of a kata is stopped when it runs for longer."
    )
    if hasattr(config, "workerinput"):
        from plugins.workers import enlist  # noqa: PLC0415 - sessions without xdist

        enlist(config, time_limit(config))
    elif distributed(config) and config.stash.get(aside_key, "") is None:
        from plugins.workers import Controller  # noqa: PLC0415 - sessions without xdist

        config.pluginmanager.register(Controller(memory_limit(config, len(config.option.tx))))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say, with -v, why there is no guard."""
    aside = config.stash.get(aside_key, None)
    return f"crash guard: off ({aside})" if aside and config.get_verbosity() > 0 else None
