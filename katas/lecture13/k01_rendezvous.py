"""Rendezvous: processes that know nothing of each other but a store.

Before ranks can send tensors they must know how many they are, who is which, and where the others
listen. All of that goes through a *store*: a map from text to bytes that all processes reach,
`FileStore` through a file, `TCPStore` through a server in one of them, `HashStore` within one
process. Of its operations you get four:

- ``store.set(key, value)``: value is ``str`` or ``bytes``; what stood there before is lost.
- ``store.get(key)``: the bytes; it waits until somebody has set the key.
- ``store.add(key, number)``: adds to a counter, which begins with 0, and returns what it is now, in
  one step: no two callers get the same answer from adding 1. ``add(key, 0)`` reads a counter and
  does not wait; from then on the key is there. A key is a counter or is set, never both.
- ``store.wait(keys)``: waits until all keys of a list are there. ``store.wait(keys, timeout)``,
  with a ``timedelta``, raises a ``RuntimeError`` if they are not by then: `FileStore` that itself,
  `TCPStore` and `HashStore` a kind of it, ``torch.distributed.DistStoreError``.

Nothing else of a store may be used, and no function of ``torch.distributed``. Do not ask again and
again whether something has happened: wait for it.

**1.** ``join(store, size)`` returns this process's rank: 0 for whoever comes first, then 1, 2, ...
Who comes when `size` have come already gets a ``RuntimeError`` that says ``full``.

**2.** ``Meeting(store, rank, size)`` is one rank's side of a group that meets in the store again
and again. All ranks call the same methods in the same order, but one may be in its next call while
another has not yet returned from this one. So no call may take what another call has left in the
store for its own; there may be a hundred ranks and a hundred calls. The store is empty at the
start, or holds what ``join`` has left, and nothing need be removed from it.

- ``barrier()`` returns when all ranks have called it. At most 3 operations by each rank.
- ``exchange(value)`` returns the list of what all ranks have given, in the order of the ranks. A
  value is whatever ``pickle`` takes. At most ``size + 2`` operations by each rank.
- ``monitored_barrier(timeout)`` returns when all ranks have called it, or raises a
  ``MissingRanksError`` (given) with the ranks that had not, in ascending order. At most
  ``size + 8`` operations by each rank, of which at most one is a ``store.wait`` with a time-out:
  with `timeout`, or ten missing ranks would take ten times as long. All ranks agree: if one of
  them raises, then all do, with the same ranks, those too that call it later; and if one returns,
  then all do. So the ranks must not judge each for itself: one may have run out of time in the
  moment in which the last one came. After an error the group is not used any more.

About 40 lines. Out of scope: ranks that die on the way, a store that is lost, removing keys.

In PyTorch: ``torch/csrc/distributed/c10d/Store.hpp`` (``Store``),
``torch/distributed/distributed_c10d.py`` (``_store_based_barrier``, which ends
``init_process_group`` if ``TORCH_DIST_INIT_BARRIER`` is 1) and
``torch/distributed/elastic/utils/store.py`` (``barrier``, ``synchronize``), where each meeting
needs a key of its own from the caller. ``torch.distributed.monitored_barrier`` sends messages
instead, with gloo to rank 0 and back.
"""

from __future__ import annotations

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
    # TODO: which operation gives everybody another answer?
    raise NotImplementedError("join")


class Meeting:
    """One rank's side of a group that meets in a store again and again."""

    def __init__(self, store: dist.Store, rank: int, size: int) -> None:
        # TODO: what has to be remembered from one call to the next?
        raise NotImplementedError("Meeting")

    def barrier(self) -> None:
        """Return when all ranks have called this."""
        # TODO: the last one opens the door.
        raise NotImplementedError("barrier")

    def exchange(self, value: Any) -> list[Any]:
        """Return what all ranks have given, in their order."""
        # TODO: leave yours, fetch theirs.
        raise NotImplementedError("exchange")

    def monitored_barrier(self, timeout: timedelta) -> None:
        """Return when all ranks have called this, or raise the same error in all of them."""
        # TODO: who is here, and who decides?
        raise NotImplementedError("monitored_barrier")
