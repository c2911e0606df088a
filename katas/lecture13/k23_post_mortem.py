"""Post-mortem: find the rank that did not arrive, from what the flight recorder kept.

A job hangs at night. Each rank has its last calls in a ring buffer, the flight recorder, and dumps
them. An entry, among others, has

    is_p2p              true for send and recv, which do not matter here
    collective_seq_id   the number of the collective, from 1, without gaps
    profiling_name      "gloo:all_reduce"
    input_sizes         [[4], [2, 2]]
    retired             true when the process group is done with it

Write `diagnose`, about 15 lines: the first collective that not all ranks have finished alike.

    (7, {"gloo:all_reduce [[4]]": [0, 2], "no call": [1]})

Begin with two dumps on paper: one has numbers 4 to 6, the other 2 to 5. What is known about number
3?
Afterwards read ``match_coalesced_groups`` and its neighbours in
``torch/distributed/flight_recorder/components/utils.py``, in site-packages.
Real life differs: each group numbers its own calls, and a rank is in several groups.
"""

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
    # TODO: by number, for each rank; then number by number.
    raise NotImplementedError("diagnose")
