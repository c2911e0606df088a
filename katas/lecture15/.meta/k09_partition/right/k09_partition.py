"""Give a delegate as much of a graph as it can take, and never a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping
    from collections.abc import Sequence

    # The inputs of each node, by name. A name stands behind those of its inputs.
    Graph = Mapping[str, Sequence[str]]


def has_cycle(graph: Graph, partitions: Sequence[Sequence[str]]) -> bool:
    """Return whether calls wait for each other in a cycle, however long.

    Each partition is one call, and so is each node outside the partitions. A call does not
    wait for itself.
    """
    homes = {name: [name] for name in graph} | {n: list(each) for each in partitions for n in each}

    def reached(names: list[str], seen: set[str], start: list[str]) -> bool:
        """Say whether what stands behind a call comes back to where it began."""
        for user, inputs in graph.items():
            if user in names or not {*inputs} & {*names}:
                continue
            if user in start or (
                user not in seen and reached(homes[user], seen | {*homes[user]}, start)
            ):
                return True
        return False

    return any(reached(start, {*start}, start) for start in homes.values())


def partition(graph: Graph, supported: Collection[str]) -> list[list[str]]:
    """Return partitions without a cycle: each supported node is in one, and no other node is.

    No two of them could be merged without a cycle, so unrelated nodes are merged as well. The
    order does not matter.
    """
    found: list[list[str]] = []
    for name in graph:
        for each in found if name in supported else []:
            if not has_cycle(graph, [*(p for p in found if p is not each), [*each, name]]):
                each.append(name)
                break
        else:
            if name in supported:
                found.append([name])
    return found
