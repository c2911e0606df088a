"""Locks between processes that their holder's death releases, however it dies."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from contextlib import contextmanager
from typing import IO
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# How often a process that waits for one of several locks tries them again.
SECONDS = 0.02


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold `file` as a lock; wait for whoever holds it.

    The kernel drops the lock when its holder dies, and the compilers that a holder starts
    do not inherit it. A file whose existence is the lock would outlive a killed build.
    """
    with file.open("a") as handle:
        _flock(handle, wait=True)
        yield


@contextmanager
def slot(folder: Path) -> Iterator[None]:
    """Hold one of as many locks as there are processors: a compiler runs under it."""
    with ExitStack() as stack:
        names = [folder / f"slot{number}.lock" for number in range(os.cpu_count() or 1)]
        handles = [stack.enter_context(name.open("a")) for name in names]
        # any() stops at the first lock that it gets.
        while not any(_flock(handle, wait=False) for handle in handles):
            time.sleep(SECONDS)
        yield


def _flock(handle: IO[str], *, wait: bool) -> bool:
    import fcntl  # noqa: PLC0415 - there is none on Windows, where the plugin must still import

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
