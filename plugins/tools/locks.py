"""Locks between processes; the kernel releases a lock when its holder dies."""

from __future__ import annotations

import time
from contextlib import ExitStack
from contextlib import contextmanager
from typing import IO
from typing import TYPE_CHECKING

from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# Seconds after which a process that waits for one of several locks tries them again.
SECONDS = 0.02


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock on `file`, after waiting for any other holder.

    The compilers that a holder starts do not inherit the lock (PEP 446). A file whose existence
    is the lock would outlive a killed build.
    """
    with file.open("a") as handle:
        _flock(handle, wait=True)
        yield


@contextmanager
def slot(folder: Path) -> Iterator[None]:
    """Hold one of as many locks as there are processors; each compiler runs under one."""
    with ExitStack() as stack:
        names = [folder / f"slot{number}.lock" for number in range(usable_processors())]
        handles = [stack.enter_context(name.open("a")) for name in names]
        # any() stops at the first lock that it gets.
        while not any(_flock(handle, wait=False) for handle in handles):
            time.sleep(SECONDS)
        yield


def _flock(handle: IO[str], *, wait: bool) -> bool:
    import fcntl  # noqa: PLC0415 - not on Windows, where this module must still import

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
