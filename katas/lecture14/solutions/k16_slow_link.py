"""Sixty-four ranks hang. Find the wrong rank, and the link that made the run slow."""

from __future__ import annotations

import statistics
from collections import defaultdict
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
    """Return the entries of each collective, or of each transfer if `p2p`."""
    found: dict[tuple[str, int], dict[int, Entry]] = defaultdict(dict)
    for rank, dump in enumerate(dumps):
        for entry in dump["entries"]:
            if entry["is_p2p"] == p2p:
                number = entry["p2p_seq_id" if p2p else "collective_seq_id"]
                found[entry["process_group"][0], number][rank] = entry
    return dict(found)


def wrong_rank(dumps: Sequence[Dump]) -> int:
    """Return the rank whose collective differs from its group's in a field of `SAYS`."""
    wrong = []
    for entries in matched(dumps, p2p=False).values():
        said = {rank: str([entry[key] for key in SAYS]) for rank, entry in entries.items()}
        usual = statistics.mode(said.values())
        wrong += [rank for rank, text in said.items() if text != usual]
    return wrong[0]


def slow_link(dumps: Sequence[Dump]) -> tuple[int, int]:
    """Return sender and receiver of the link that is slow most of the time, in that direction."""
    times: dict[tuple[int, int], list[int]] = defaultdict(list)
    for entries in matched(dumps, p2p=True).values():
        ends = [entry["time_discovered_completed_ns"] for entry in entries.values()]
        if len(ends) == 2 and min(ends):
            began = max(entry["time_created_ns"] for entry in entries.values())
            # "nccl:send" is behind "nccl:recv": the receiver comes first.
            receiver, sender = sorted(entries, key=lambda rank: entries[rank]["profiling_name"])
            times[sender, receiver].append(max(ends) - began)
    return max(times, key=lambda link: statistics.median(times[link]))
