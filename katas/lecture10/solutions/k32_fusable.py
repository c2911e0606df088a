"""Say whether two loops may become one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture10.schedule import accesses


if TYPE_CHECKING:
    from collections.abc import Sequence

    from katas.lecture10.schedule import Kernel


def needs(kernels: Sequence[Kernel]) -> list[set[int]]:
    """Return a set for each kernel: the positions of all kernels that must run before it."""
    writer = {node.name: place for place, kernel in enumerate(kernels) for node in kernel}
    result: list[set[int]] = []
    for place, kernel in enumerate(kernels):
        read = {dep.name for node in kernel for dep in node.reads}
        direct = {writer[name] for name in read & writer.keys()} - {place}
        result.append(direct.union(*(result[earlier] for earlier in direct)))
    return result


def saved(first: Kernel, second: Kernel) -> int:
    """Return the bytes that both kernels read or write."""
    return sum(dep.bytes for dep in accesses(first) & accesses(second))


def can_fuse(kernels: Sequence[Kernel], first: int, second: int) -> bool:
    """Return whether the kernels at two positions, the first before the second, may be fused."""
    nodes = kernels[first] + kernels[second]
    if any(node.extern for node in nodes) or not same_loops(nodes):
        return False
    writes = {node.name: node.write for node in kernels[first]}
    reads = [read for node in kernels[second] for read in node.reads]
    if any(read != writes.get(read.name, read) for read in reads):
        return False
    before = needs(kernels)
    return not any(first in before[third] for third in before[second])


def same_loops(nodes: Kernel) -> bool:
    """Return whether one nest of loops serves all nodes. Given.

    Without a reduction, all nodes have equal `ranges`. With one, all reductions have equal loops,
    and the ranges of the other nodes are its `ranges` or its ``ranges + reduced``.
    """
    shapes = {(node.ranges, node.reduced) for node in nodes if node.reduced}
    if not shapes:
        return len({node.ranges for node in nodes}) == 1
    ranges, reduced = max(shapes)
    allowed = {(ranges, reduced), (ranges, ()), (ranges + reduced, ())}
    return all((node.ranges, node.reduced) in allowed for node in nodes)
