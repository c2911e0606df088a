"""Measures lines while a wing's own tests run, and not while those of the whole do.

In Python 3.11 coverage makes a session of pytest take twice as long. What a wing does, its own
tests show: so those of the gate and of the house run without, and the processes that they start.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol

import pytest


# Folders of tests/ that belong to no wing.
UNMEASURED = ("gate", "house")
# Tells a process to measure itself (coverage, `patch = subprocess`).
VARIABLE = "COVERAGE_PROCESS_CONFIG"


class Coverage(Protocol):
    """What is asked of a `coverage.Coverage`, which need not be installed."""

    def start(self) -> None:
        """Measure."""

    def stop(self) -> None:
        """Measure no more."""


class Measuring:
    """A plugin of pytest that pauses coverage for the tests of some folders."""

    def __init__(self) -> None:
        self.paused: Coverage | None = None
        self.setting: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Pause or go on before the fixtures of a test, which may start processes."""
        measured = item.path.parent.name not in UNMEASURED
        if measured and self.paused:
            self.paused.start()
            self.paused = None
            if self.setting is not None:
                os.environ[VARIABLE] = self.setting
        elif not measured and not self.paused and (running := running_coverage()):
            self.setting = os.environ.pop(VARIABLE, None)
            self.paused = running
            self.paused.stop()


def running_coverage() -> Coverage | None:
    """Return what measures this process, if anything does."""
    coverage = sys.modules.get("coverage")
    running: Coverage | None = coverage.Coverage.current() if coverage else None
    return running
