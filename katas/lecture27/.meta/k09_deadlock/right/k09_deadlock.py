"""Find a deadlock in the stacks of its threads."""

from __future__ import annotations

import threading
import traceback
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
    """Go through the stacks with the standard library."""
    return {
        thread: each.f_locals["self"]
        for thread, frame in frames.items()
        for each, _ in reversed([*traceback.walk_stack(frame)])
        if each.f_code == Lock.acquire.__code__
    }


def cycle(waits: Mapping[int, Lock]) -> list[int]:
    """Walk as many steps as there are threads, and see who is met again."""
    rings = []
    for first in waits:
        ring = [first]
        for _ in waits:
            lock = waits.get(ring[-1])
            if lock is None or lock.owner is None:
                break
            if lock.owner == first:
                rings.append(ring)
                break
            ring.append(lock.owner)
    return min((ring for ring in rings if ring[0] == min(ring)), default=[])
