"""Ranks, barriers and exchanges from four operations of a store."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from torch import distributed as dist


class MissingRanksError(RuntimeError):
    """Some ranks have not come in time. Given."""

    def __init__(self, ranks: Sequence[int]) -> None:
        super().__init__(f"not come in time: {', '.join(map(str, ranks))}")
        self.ranks = list(ranks)


def join(store: dist.Store, size: int) -> int:
    """Return the rank of this process, by the order of arrival."""
    # To read and then to write would give two processes the same rank.
    rank = store.add("joined", 1) - 1
    if rank >= size:
        raise RuntimeError(f"the group is full: it has {size} ranks")
    return rank


class Meeting:
    """One rank's side of a group that meets in a store again and again."""

    def __init__(self, store: dist.Store, rank: int, size: int) -> None:
        self._store = store
        self._rank = rank
        self._size = size
        # All ranks make the same calls, so the number of a call is the same in all of them.
        self._calls = 0

    def _next(self) -> str:
        """Return what the keys of this call begin with, and those of no other."""
        self._calls += 1
        return f"call {self._calls}"

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        call = self._next()
        if self._store.add(f"{call}: count", 1) == self._size:
            self._store.set(f"{call}: open", "")
        self._store.wait([f"{call}: open"])

    def exchange(self, value: Any) -> list[Any]:
        """Return what all ranks have given, in their order."""
        call = self._next()
        self._store.set(f"{call}: value of {self._rank}", pickle.dumps(value))
        keys = (f"{call}: value of {rank}" for rank in range(self._size))
        return [pickle.loads(self._store.get(key)) for key in keys]  # noqa: S301 - from our ranks

    def monitored_barrier(self, timeout: timedelta) -> None:
        """Return when all ranks have called this, or raise the same error in all of them."""
        call = self._next()
        self._store.add(f"{call}: {self._rank} is here", 1)
        if self._store.add(f"{call}: count", 1) == self._size:
            self._decide(call, [])
        else:
            try:
                self._store.wait([f"{call}: verdict"], timeout)
            # FileStore raises just this, other stores a DistStoreError, which is one.
            except RuntimeError:
                here = [self._store.add(f"{call}: {r} is here", 0) for r in range(self._size)]
                self._decide(call, [rank for rank, count in enumerate(here) if not count])
        missing = pickle.loads(self._store.get(f"{call}: verdict"))  # noqa: S301 - from our ranks
        if missing:
            raise MissingRanksError(missing)

    def _decide(self, call: str, missing: list[int]) -> None:
        """Say who is missing, unless another rank was faster."""
        if self._store.add(f"{call}: decided", 1) == 1:
            self._store.set(f"{call}: verdict", pickle.dumps(missing))
