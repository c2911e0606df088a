"""Ranks, barriers and exchanges from four operations of a store."""

from __future__ import annotations

import pickle
from typing import Any

from torch import distributed as dist


def join(store: dist.Store, size: int) -> int:
    """Return the rank of this process, by the order of arrival.

    Raise a RuntimeError that says "full" if `size` processes have already joined.
    """
    # To read and then to write would give two processes the same rank.
    rank = store.add("joined", 1) - 1
    if rank >= size:
        raise RuntimeError(f"the group is full: it has {size} ranks")
    return rank


class Meeting:
    """One rank's end of a group that meets repeatedly through a store.

    All ranks call the same methods in the same order. You need not remove anything from the store.
    """

    def __init__(self, store: dist.Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.calls = 0

    def next_key(self) -> str:
        """Return a prefix for the keys of this call. Given; call it once in each call."""
        self.calls += 1
        return f"call {self.calls}: "

    def barrier(self) -> None:
        """Return when all ranks have called this; at most 3 operations per rank."""
        key = self.next_key()
        if self.store.add(f"{key}count", 1) == self.size:
            self.store.set(f"{key}open", "")
        self.store.wait([f"{key}open"])

    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in rank order.

        A value is anything that ``pickle`` accepts. At most ``size + 2`` operations per rank.
        """
        key = self.next_key()
        self.store.set(f"{key}{self.rank}", pickle.dumps(value))
        keys = [f"{key}{rank}" for rank in range(self.size)]
        return [pickle.loads(self.store.get(each)) for each in keys]  # noqa: S301 - from our ranks
