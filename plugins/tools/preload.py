"""Imports modules once in a process that forks the runs: a run names those that it had to import.

The gate and ``--watch`` fork their runs from a process that stays. torch imports a thousand modules
only when something is first used, which takes up to two seconds: more than most tests.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterator


# None of their modules starts a thread or touches a device when it is imported, which a fork would
# not survive: tests/tools/test_preload.py imports those that the hardest katas use, and counts.
# The module onnxruntime starts one.
PACKAGES = frozenset(
    {
        *("functorch", "hypothesis", "mpmath", "networkx", "numpy", "sympy", "torch"),
        *("ml_dtypes", "onnx", "onnx_ir", "onnxscript"),
    }
)
# What a pipe takes without anyone reading, in bytes, on Linux and macOS.
ROOM = 1 << 16


class Preload:
    """Tells the process that stays which modules a run has imported, for the next runs."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        # Those that a run finds imported, and those that this process could not import.
        self._known = {*sys.modules}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the names, in the run; those that find no room are left for the next."""
        text = "".join(f"{name}\n" for name in [*sys.modules] if self._is_new(name))
        with suppress(BlockingIOError):
            os.write(self._writer, text.encode()[:ROOM])

    def catch_up(self) -> bool:
        """Import the modules in the process that stays; return whether there was one to import."""
        names = [name for name in self._read() if name not in self._known]
        # In the order of the run: the first imports most of the others.
        for name in names:
            with suppress(Exception):
                importlib.import_module(name)
        self._known.update(sys.modules, names)
        return bool(names)

    def _is_new(self, name: str) -> bool:
        return name.partition(".")[0] in PACKAGES and name not in self._known

    def _read(self) -> Iterator[str]:
        text = ""
        with suppress(BlockingIOError):
            text = os.read(self._reader, ROOM).decode()
        # The last one may have been cut.
        yield from text.split("\n")[:-1]
