"""Sixty-four ranks hang. Find the rank that is wrong, and the link that made the run slow.

Eight pipelines of eight stages: rank 8 p + s is stage s of pipeline p. Neighbours send each other
activations and gradients, in a group for each link; ranks of one stage all-reduce. Before it hung,
the run was slow.

Each rank has dumped its flight recorder as JSON. An entry, among others, has

    process_group  ["17", "dp"]          the group's name, and what it is for
    profiling_name "nccl:all_reduce"     or "nccl:send 0->1", "nccl:recv 1<-0": ranks in the group
    is_p2p, collective_seq_id, p2p_seq_id, input_sizes, input_dtypes
    time_created_ns                      when the rank called it
    time_discovered_completed_ns         0 if it has not ended

1. `matched`: put the entries of one call together, of all ranks that have it.
2. `wrong_rank`: it called something other than its group. Most of the 64 hang as well.
3. `slow_link`: a call also waits for its partner to come. That is not the link's fault, and one
   slow transfer makes no slow link.

Begin on paper: both ends of a transfer call at 3 and 9, and it ends at 11.
Afterwards read how ``Op.match`` compares in
``torch/distributed/flight_recorder/components/types.py``, on your disk.

Real life differs: the clocks of hosts do not agree, and gloo records neither transfers nor ends.
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

    Keys are the name of the group and the number that counts such calls in it; values the entry of
    each rank that has one. ``dumps[rank]["entries"]`` are a rank's last calls: a full recorder
    drops the first, so ranks begin at different ones.
    """
    # TODO: which of the two numbers counts?
    raise NotImplementedError("matched")


def wrong_rank(dumps: Sequence[Dump]) -> int:
    """Return the rank that called a collective otherwise than its group, by what is in `SAYS`.

    Of those that have the call, more than half agree.
    """
    # TODO: compare what the ranks say of each collective.
    raise NotImplementedError("wrong_rank")


def slow_link(dumps: Sequence[Dump]) -> tuple[int, int]:
    """Return sender and receiver of the link that is slow most of the time, in that direction.

    A transfer counts if both ends have it and it has ended. Its time begins when the later end has
    called it, and ends with the later end; a link's time is the median of those.
    """
    # TODO: a list of times for each link.
    raise NotImplementedError("slow_link")
