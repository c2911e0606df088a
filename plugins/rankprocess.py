"""Makes a forked process fit to be a rank: it leaves traces, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from typing import NoReturn

from plugins.lastwords import say_and_leave


if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from plugins.journal import Journal


PR_SET_PDEATHSIG = 1


def spawned(work: Callable[[], object]) -> int:
    """Fork a process that does this and ends, with status 1 if it raises; return its number."""
    return os.fork() or leave_after(work)


def leave_after(work: Callable[[], object]) -> NoReturn:
    """Do this and end the process."""
    # The work may put something else in its place.
    leave = os._exit
    status = 1
    try:
        work()
        status = 0
    finally:
        leave(status)


def prepare(journal: Journal, server: Connection, parent: int) -> None:
    """Cut this process off from the terminal, bind it to its parent, keep its last words."""
    # A group of its own, so that what it starts can be ended with it.
    os.setsid()
    follow(parent, server, os._exit)
    # When memory runs out, the system shall end this process and not the editor.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    redirect(journal.out, journal.err)
    stack = os.open(journal.stack, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    faulthandler.enable(file=stack)
    os._exit = partial(say_and_leave, os._exit, os.getpid(), stack)


def follow(parent: int, server: Connection, leave: Callable[[int], object]) -> None:
    """End this process with its parent, however that ends."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except AttributeError:
        # Not Linux. Nothing comes from the server but its end, or this rank's.
        Thread(target=wait_for_end, args=(server, leave), daemon=True).start()
    if os.getppid() != parent:
        leave(1)


def wait_for_end(server: Connection, leave: Callable[[int], object]) -> None:
    """Leave as soon as the other side of a connection is gone."""
    with suppress(EOFError, OSError):
        server.recv()
    leave(1)


def redirect(out: Path, err: Path) -> None:
    """Read nothing, and write to files; pytest's own capturing ended with the fork."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in (out, err)]
    for number, file in enumerate((nothing, *files)):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - as long as the process
    for name, number in (("stdout", 1), ("stderr", 2)):
        # By line, so that what was printed is not lost with the process.
        stream = open(number, "w", buffering=1, closefd=False, encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
