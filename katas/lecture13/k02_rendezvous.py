"""Rendezvous: processes that share nothing but a key-value store.

Before ranks can send tensors they must learn who is which. `init_process_group` does that through a
store, a map from text to bytes that all processes share:

    store.set(key, value)   str or bytes
    store.get(key)          bytes; waits until the key is there
    store.add(key, 1)       adds to a counter and returns it: 1, 2, 3, ... and no number twice
    store.wait([key, ...])  waits until all keys are there

Build the first three things that a group needs. Use these four operations and nothing else, and
never poll in a loop.

1. `join`: whoever comes first is rank 0.
2. `Meeting.barrier`: nobody leaves before all have arrived.
3. `Meeting.exchange`: everybody learns every rank's value.

A rank may be in its next call while another is still leaving this one.

Begin on paper with two barriers in a row: what has the first one left in the store?
Afterwards read ``_store_based_barrier`` in ``torch/distributed/distributed_c10d.py``, in
site-packages.
Real life differs: keys are removed again, and a store may be lost.
"""

from __future__ import annotations

import pickle
from typing import Any

from torch import distributed as dist


def join(store: dist.Store, size: int) -> int:
    """Return the rank of this process, by the order of arrival.

    Raise a RuntimeError that says "full" if `size` processes have already joined.
    """
    # TODO: which operation gives everybody a different answer?
    raise NotImplementedError("join")


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
        # TODO: the last one opens the door.
        raise NotImplementedError("barrier")

    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in rank order.

        A value is anything that ``pickle`` accepts. At most ``size + 2`` operations per rank.
        """
        # TODO: store your value, fetch the others'.
        raise NotImplementedError("exchange")
