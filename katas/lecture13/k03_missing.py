"""A barrier that says who is missing.

Seven of eight ranks wait, and the log says nothing. ``monitored_barrier`` names the missing rank
after a time-out. The hard part is not finding it but agreeing:

    rank 0   ....... time is up: rank 2 is missing!
    rank 2           ....... I am here, and all have come: go on

Rank 0 stops, rank 2 trains on, and hangs at the next collective. So there is one verdict, and
all ranks obey it.

Write `monitored_barrier`, about 15 lines.

- All ranks return, or all raise a `MissingRanksError` with the same ranks, ascending; so does a
  rank that arrives after the others have given up.
- Use only the store's ``set``, ``get``, ``add`` and ``wait`` (see k02), and never poll in a loop.
- At most one ``wait`` with a time-out per rank: ten missing ranks must not take ten times as
  long.

Begin on paper: what does each rank leave in the store, and who may give the verdict?
Afterwards read ``monitored_barrier`` in ``torch/distributed/distributed_c10d.py``.
Real life differs: with gloo all ranks report to rank 0, which must itself arrive.
"""

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
    # TODO: arrive, wait for a verdict or give it, then obey it.
    raise NotImplementedError("monitored_barrier")
