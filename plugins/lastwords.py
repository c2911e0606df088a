"""Lets the last words of a process, its stack and what it printed, outlive it."""

from __future__ import annotations

import faulthandler
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from typing import NoReturn

from _pytest.capture import FDCaptureBase


if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from plugins.journal import Journal


def redirect(config: pytest.Config, journal: Journal) -> None:
    """Let them go to the files of `journal`; pytest has configured itself before."""
    stack = journal.stack.open("ab")
    config.add_cleanup(stack.close)
    # pytest has it write to the terminal.
    faulthandler.enable(file=stack)
    config.add_cleanup(partial(setattr, os, "_exit", os._exit))
    os._exit = partial(say_and_leave, os._exit, os.getpid(), stack.fileno())
    # pytest captures into files without a name, which are lost with the process.
    capture = getattr(config.pluginmanager.get_plugin("capturemanager"), "_global_capturing", None)
    for stream, file in (("out", journal.out), ("err", journal.err)):
        captured = getattr(capture, stream, None)
        if isinstance(captured, FDCaptureBase):
            named = os.open(file, os.O_RDWR | os.O_CREAT)
            os.dup2(named, captured.tmpfile.fileno())
            os.close(named)


def say_and_leave(
    leave: Callable[[int], NoReturn], process: int, stack: int, status: int
) -> NoReturn:
    """Leave as os._exit does, but say from where; not in a process that a test has forked."""
    if os.getpid() == process:
        with suppress(ValueError, OSError):
            faulthandler.dump_traceback(stack, all_threads=False)
    leave(status)
