"""A monitored barrier on a store: the first verdict counts."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import timedelta

from torch import distributed as dist


class MissingRanksError(RuntimeError):
    """Some ranks did not arrive in time. Given."""

    def __init__(self, ranks: Sequence[int]) -> None:
        super().__init__(f"not come in time: {', '.join(map(str, ranks))}")
        self.ranks = list(ranks)


def monitored_barrier(store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
    """Return when all ranks have called this, or raise the same error in all of them.

    The store is empty at first, and each rank calls this once with it. Pass `timeout` to
    ``store.wait(keys, timeout)``: it raises a RuntimeError when time runs out. ``add(key, 0)``
    reads a counter, and never waits. At most ``size + 8`` operations per rank.
    """
    store.add(f"here {rank}", 1)
    if store.add("count", 1) == size:
        _decide(store, [])
    else:
        try:
            store.wait(["verdict"], timeout)
        # FileStore raises just this, other stores a DistStoreError, a subclass.
        except RuntimeError:
            here = [store.add(f"here {each}", 0) for each in range(size)]
            _decide(store, [each for each, count in enumerate(here) if not count])
    missing = pickle.loads(store.get("verdict"))  # noqa: S301 - from our ranks
    if missing:
        raise MissingRanksError(missing)


def _decide(store: dist.Store, missing: list[int]) -> None:
    """Say who is missing, unless another rank was faster."""
    if store.add("decided", 1) == 1:
        store.set("verdict", pickle.dumps(missing))
