"""Imports a slow module once in a process that forks the runs: the first run names it to the rest.

The gate and ``--watch`` fork their runs from a process that stays.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress

import pytest

from plugins.tools.private import SLOW_MODULES


# Only some katas import them, and mostly not by name.
LATE = SLOW_MODULES


class Late:
    """Tells the process that stays which late modules a run has imported, for the next runs."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the names, in the run."""
        names = [name for name in LATE if name in sys.modules]
        os.write(self._writer, "".join(f"{name}\n" for name in names).encode())

    def catch_up(self) -> bool:
        """Import the modules in the process that stays; return whether there was one to import."""
        names: set[str] = set()
        with suppress(BlockingIOError):
            names = {*os.read(self._reader, 1 << 12).decode().splitlines()} - {*sys.modules}
        for name in sorted(names, key=LATE.index):
            with suppress(Exception):
                importlib.import_module(name)
        return bool(names)
