"""Find a deadlock in the stacks of its threads.

The job hangs at 0 % CPU, without an error or a traceback, but every thread has a stack. A
waiting thread has ``acquire`` in its stack, and ``self`` in that frame is the lock:

    thread 1                         thread 2
      load                             evict
      with table:   has it             with stats:   has it
      with stats:   waits              with table:   waits

    sys._current_frames()    {1: innermost frame, 2: innermost frame}

Write two functions, about 20 lines.

- `waiting`: find the lock that each thread waits for. Walk up the stack with ``frame.f_back``.
- `cycle`: find threads that wait for each other. A thread outside the ring is only a victim.

Begin on paper: in the picture, which thread owns the lock that thread 1 waits for, and what does
that thread wait for?
Afterwards read ``_event_listener`` in ``torch/testing/_internal/common_distributed.py``, in
site-packages: how do PyTorch's tests get the stacks of a hanging rank?

Real life differs: a plain ``threading.Lock`` has no owner and no Python frame. And a thread that
has just got its lock is still in `acquire`, which looks like a ring of one: take the stacks twice.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType


class Lock:
    """A lock that knows its owner thread. Given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inner = threading.Lock()
        self.owner: int | None = None

    def acquire(self) -> None:
        """Wait until the lock is free, and take it."""
        self.inner.acquire()
        self.owner = threading.get_ident()

    def release(self) -> None:
        """Release the lock."""
        self.owner = None
        self.inner.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def waiting(frames: Mapping[int, FrameType]) -> dict[int, Lock]:
    """For each thread waiting in `Lock.acquire`, return the lock it waits for.

    `frames` maps each thread to its innermost frame; `acquire` may be further out. If a stack has
    two such frames, use the inner one. Other classes may have a method of that name: recognise the
    frame by its code, ``Lock.acquire.__code__``.
    """
    # TODO: a local variable is in frame.f_locals.
    raise NotImplementedError("waiting")


def cycle(waits: Mapping[int, Lock]) -> list[int]:
    """Return threads that wait for each other in a ring, each followed by the one it waits for.

    Put the smallest number first; of several rings, return the one with the smallest number.
    Without a ring, return an empty list. A thread that waits for its own lock is a ring of one.
    """
    # TODO
    raise NotImplementedError("cycle")
