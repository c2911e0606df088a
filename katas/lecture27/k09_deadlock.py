"""Find a deadlock in the stacks of its threads.

The job hangs at 0 % CPU. There is no error and no traceback, but every thread has a stack. One that
waits has ``acquire`` in it, and the lock that it waits for is ``self`` there:

    thread 1                         thread 2
      load                             evict
      with table:   has it             with stats:   has it
      with stats:   waits              with table:   waits

    sys._current_frames()    {1: innermost frame, 2: innermost frame}

Write two functions, about 20 lines.

- `waiting`: which thread waits for which lock. Walk with ``frame.f_back``.
- `cycle`: which of them wait for each other. A thread outside the ring is only a victim.

Begin on paper: in the picture, who is the owner of the lock that thread 1 waits for, and what does
that thread wait for?
Afterwards read ``_event_listener`` in ``torch/testing/_internal/common_distributed.py``, in
site-packages: how do PyTorch's tests get the stacks of a rank that hangs?

Real life differs: a plain ``threading.Lock`` knows no owner and leaves no frame. And a thread that
has just got its lock is still in `acquire`, which looks like a ring of one: take the stacks twice.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType


class Lock:
    """A lock that knows the thread that has it. Given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inner = threading.Lock()
        self.owner: int | None = None

    def acquire(self) -> None:
        """Wait until the lock is free, and take it."""
        self.inner.acquire()
        self.owner = threading.get_ident()

    def release(self) -> None:
        """Give the lock back."""
        self.owner = None
        self.inner.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def waiting(frames: Mapping[int, FrameType]) -> dict[int, Lock]:
    """Return for each thread that waits in `Lock.acquire` the lock that it waits for.

    `frames` has the innermost frame of each thread; `acquire` may be further out. If a stack has
    two of them, the inner one counts. Other classes have a method of that name too: you know a
    frame by its code, ``Lock.acquire.__code__``.
    """
    # TODO: a local variable is in frame.f_locals.
    raise NotImplementedError("waiting")


def cycle(waits: Mapping[int, Lock]) -> list[int]:
    """Return threads that wait for each other in a ring, each followed by the one it waits for.

    The smallest number comes first; of several rings, return the one with the smallest number.
    Without a ring the list is empty. A thread that waits for its own lock is a ring of one.
    """
    # TODO
    raise NotImplementedError("cycle")
