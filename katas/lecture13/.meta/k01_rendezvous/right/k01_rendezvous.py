"""Another solution: every rank has a flag of its own, and calls are counted in the store."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
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
    come = store.add("members", 1)
    if come > size:
        raise RuntimeError("full")
    return come - 1


class Meeting:
    """One rank's side of a group that meets in a store again and again."""

    def __init__(self, store: dist.Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.exchanges = self.monitored = 0

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        # One counter for all barriers: whoever is in the next one has seen the last one complete.
        number, last = divmod(self.store.add("barrier", 1) - 1, self.size)
        if last == self.size - 1:
            self.store.set(f"barrier/{number}", "open")
        else:
            self.store.wait([f"barrier/{number}"])

    def exchange(self, value: Any) -> list[Any]:
        """Return what all ranks have given, in their order."""
        self.exchanges += 1
        keys = [f"exchange/{self.exchanges}/{rank}" for rank in range(self.size)]
        self.store.set(keys[self.rank], pickle.dumps(value))
        self.store.wait(keys)
        return [pickle.loads(self.store.get(key)) for key in keys]  # noqa: S301

    def monitored_barrier(self, timeout: timedelta) -> None:
        """Return when all ranks have called this, or raise the same error in all of them."""
        self.monitored += 1
        here = [f"monitored/{self.monitored}/{rank}" for rank in range(self.size)]
        self.store.add(here[self.rank], 1)
        with suppress(RuntimeError):
            self.store.wait(here, timeout)
        missing = [r for r, key in enumerate(here) if self.store.add(key, 0) == 0]
        # The first that has made up its mind decides; the others do as it does.
        if self.store.add(f"monitored/{self.monitored}/judges", 1) == 1:
            self.store.set(f"monitored/{self.monitored}/judgement", json.dumps(missing))
        missing = json.loads(self.store.get(f"monitored/{self.monitored}/judgement"))
        if missing:
            raise MissingRanksError(missing)
