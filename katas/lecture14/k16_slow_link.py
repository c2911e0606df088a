"""Sixty-four ranks hang. Find the wrong rank, and the link that made the run slow.

There are eight pipelines of eight stages: rank 8 p + s is stage s of pipeline p. Neighbours
exchange activations and gradients, with one group per link; ranks of the same stage all-reduce.
Before it hung, the run was slow.

Each rank has dumped its flight recorder as JSON. Among other fields, an entry has

    process_group  ["17", "dp"]          the group's name, and what it is for
    profiling_name "nccl:all_reduce"     or "nccl:send 0->1", "nccl:recv 1<-0": ranks in the group
    is_p2p, collective_seq_id, p2p_seq_id, input_sizes, input_dtypes
    time_created_ns                      when the rank called it
    time_discovered_completed_ns         0 if it has not ended

1. `matched`: collect the entries that different ranks have for the same call.
2. `wrong_rank`: find the rank that called something different from its group. Most of the 64 hang
   too.
3. `slow_link`: a call also waits for its partner to arrive, which is not the link's fault; and one
   slow transfer does not make a slow link.

Begin on paper: the two ends of a transfer call at 3 and 9, and it ends at 11. How long did it take?
Afterwards read how ``Op.match`` compares in
``torch/distributed/flight_recorder/components/types.py``, on your disk.

Real life differs: the hosts' clocks do not agree, and gloo records neither transfers nor end times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    Dump = Mapping[str, Any]
    Entry = Mapping[str, Any]


# The fields in which an entry of a collective can differ from its group's.
SAYS = ("profiling_name", "input_sizes", "input_dtypes")


def matched(dumps: Sequence[Dump], *, p2p: bool) -> dict[tuple[str, int], dict[int, Entry]]:
    """Return the entries of each collective, or of each transfer if `p2p`.

    The key is the group's name and the number of the call among such calls in the group; the value
    holds the entry of each rank that has one. ``dumps[rank]["entries"]`` are a rank's latest calls:
    a full recorder drops the oldest, so ranks start at different calls.
    """
    # TODO: which of the two numbers do you need?
    raise NotImplementedError("matched")


def wrong_rank(dumps: Sequence[Dump]) -> int:
    """Return the rank whose collective differs from its group's in a field of `SAYS`.

    More than half of the ranks that have the call agree.
    """
    # TODO: compare what the ranks say about each collective.
    raise NotImplementedError("wrong_rank")


def slow_link(dumps: Sequence[Dump]) -> tuple[int, int]:
    """Return sender and receiver of the link that is slow most of the time, in that direction.

    Count a transfer only if both ranks recorded it and it has ended on both. It runs from the later
    of the two calls to the later of the two ends; a link's time is the median over its transfers.
    """
    # TODO: a list of times for each link.
    raise NotImplementedError("slow_link")
