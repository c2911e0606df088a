"""The settings that limit the seconds and the memory of one test of a kata.

The crash guard enforces them for tests, and the fixture ``world`` for its ranks.
"""

from __future__ import annotations

import re

import pytest

from plugins.tools.processes import usable_memory
from plugins.tools.processes import usable_processors


SHARE = re.compile(r"(\d{1,3})%")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `kata_timeout` and `kata_memory`."""
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


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register `time_limit`."""
    config.addinivalue_line(
        "markers", "time_limit(seconds): this test of a kata is stopped when it runs for longer."
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Let ``-n auto`` mean the processors that this session may use, in a container too."""
    return usable_processors()


def time_limit(config: pytest.Config) -> float | None:
    """Return the seconds that a test may take; None with a debugger, which waits for a person."""
    if config.getoption("usepdb", default=False) or config.getoption("trace", default=False):
        return None
    return float(config.getini("kata_timeout")) or None


def memory_limit(config: pytest.Config, processes: int = 1) -> int:
    """Return the memory limit per process when `processes` share it (0: unlimited).

    Raises
    ------
    pytest.UsageError
        If ``kata_memory`` is no share of the machine's memory.
    """
    try:
        return allowance(config.getini("kata_memory"), usable_memory(), processes)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def allowance(text: str, machine: int, processes: int = 1) -> int:
    """Return the memory limit per process when `processes` share it (0: unlimited).

    Raises
    ------
    ValueError
        If `text` is no share of the machine's memory.
    """
    share = SHARE.fullmatch(text.strip())
    if share is None:
        raise ValueError(f"kata_memory: expected a share such as 50%, found {text!r}")
    return machine * int(share[1]) // 100 // processes
