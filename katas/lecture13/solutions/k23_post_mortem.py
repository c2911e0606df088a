"""The first collective that not all ranks have finished, and who did what in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any


def diagnose(dumps: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, list[int]]] | None:
    """Return the first number at which not all ranks have retired the same call, and who did what.

    ``dumps[r]["entries"]`` are rank r's entries, oldest first. Write a call as its name and input
    sizes, plus " retired" if it is; write "no call" for none. Group the ranks that did the same,
    the group of the lowest rank first. Return None if there is no such number. A buffer may have
    lost calls that another still has: begin with the first number that no rank has lost.
    """
    calls: list[dict[int, str]] = []
    for dump in dumps:
        entries = [entry for entry in dump["entries"] if not entry["is_p2p"]]
        calls.append(
            {
                entry["collective_seq_id"]: f"{entry['profiling_name']} {entry['input_sizes']}"
                + " retired" * entry["retired"]
                for entry in entries
            }
        )
    # What one buffer has lost says nothing.
    first = max((min(numbers) for numbers in calls if numbers), default=0)
    for number in sorted(number for number in set().union(*calls) if number >= first):
        groups: dict[str, list[int]] = defaultdict(list)
        for rank, numbers in enumerate(calls):
            groups[numbers.get(number, "no call")].append(rank)
        if len(groups) > 1 or not next(iter(groups)).endswith(" retired"):
            return number, dict(groups)
    return None
