"""A run of pytest that is forked from a warm process, and ends with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.rankprocess import PR_SET_PDEATHSIG
from plugins.watchdog import GRACE


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable


PAUSE = 0.005


class ForkedRun:
    """A process that runs pytest, with all that it starts in its process group."""

    def __init__(self, process: int) -> None:
        self.process = process
        # The process does so too, since nobody knows which comes first.
        with suppress(OSError):
            os.setpgid(process, process)
        # As os.waitstatus_to_exitcode says; None while it runs.
        self.code: int | None = None

    def ended(self) -> bool:
        """Whether the process has ended; what is left of its group ends then."""
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self._send(signal.SIGKILL)
        return self.code is not None

    def drop(self) -> None:
        """End the process: by a signal that lets it tidy up, by force if that takes long."""
        self._send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while not self.ended():
            if time.monotonic() > deadline:
                self._send(signal.SIGKILL)
            time.sleep(PAUSE)

    def _send(self, number: int) -> None:
        # It may be gone, or have left its group; macOS says so of one that is not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, number)


def fork(blocked: Iterable[int], begin: Callable[[], None]) -> ForkedRun | None:
    """Fork a run and return it; in the run, which calls `begin` first, return None.

    No signal of `blocked` reaches the run before it has put back its handlers, in `begin`.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    with warnings.catch_warnings():
        # Python 3.12 and newer warn of the threads that torch has: they wait for work.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork() or settle(parent, begin)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedRun(process) if process else None


def settle(parent: int, begin: Callable[[], None]) -> int:
    """Make this process, a fork, one of its own that ends with its parent; return 0."""
    cut_off(parent)
    begin()
    return 0


def cut_off(parent: int) -> None:
    """Leave the keyboard to the parent, and end with it."""
    os.setpgid(0, 0)
    # Linux only: whatever ends the parent, even SIGKILL, ends this process.
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    # Who reads or sets the terminal without leave gets an error, and is not stopped for ever.
    for number in (signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
