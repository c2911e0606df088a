"""Give a delegate as much of a graph as it can take, and never a cycle."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping
    from collections.abc import Sequence

    # The inputs of each node, by name. Each name comes after those of its inputs.
    Graph = Mapping[str, Sequence[str]]


def has_cycle(graph: Graph, partitions: Sequence[Sequence[str]]) -> bool:
    """Return whether calls wait for each other in a cycle, however long.

    Each partition is one call, and so is each node outside the partitions. A call does not
    wait for itself.
    """
    owners: dict[str, object] = {name: name for name in graph}
    for number, names in enumerate(partitions):
        owners.update(dict.fromkeys(names, number))
    waits: dict[object, set[object]] = {owner: set() for owner in owners.values()}
    for name, inputs in graph.items():
        waits[owners[name]] |= {owners[each] for each in inputs} - {owners[name]}
    while waits:
        ready = [owner for owner, needs in waits.items() if not needs & waits.keys()]
        if not ready:
            return True
        for owner in ready:
            del waits[owner]
    return False


def partition(graph: Graph, supported: Collection[str]) -> list[list[str]]:
    """Return partitions without a cycle: each supported node is in one, and no other node is.

    No two of them could be merged without a cycle, so unrelated nodes are merged as well. The
    order does not matter.
    """
    found, merged = [[name] for name in graph if name in supported], True
    while merged:
        merged = False
        for one, other in combinations(found, 2):
            rest = [each for each in found if each is not one and each is not other]
            if not has_cycle(graph, [*rest, one + other]):
                found, merged = [*rest, one + other], True
                break
    return found
