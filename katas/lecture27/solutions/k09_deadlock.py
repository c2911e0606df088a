"""Find a deadlock in the stacks of its threads."""

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
    found: dict[int, Lock] = {}
    for thread, innermost in frames.items():
        frame: FrameType | None = innermost
        while frame is not None:
            if frame.f_code is Lock.acquire.__code__:
                found.setdefault(thread, frame.f_locals["self"])
            frame = frame.f_back
    return found


def cycle(waits: Mapping[int, Lock]) -> list[int]:
    """Return threads that wait for each other in a ring, each followed by the one it waits for.

    Put the smallest number first; of several rings, return the one with the smallest number.
    Without a ring, return an empty list. A thread that waits for its own lock is a ring of one.
    """
    for first in sorted(waits):
        path = [first]
        while path[-1] in waits and (owner := waits[path[-1]].owner) is not None:
            if owner == first:
                return path
            if owner in path:
                break
            path.append(owner)
    return []
