"""Given to the katas on scheduling: loops that read and write buffers, and which may be fused.

Until you have solved k32, read only what is above `needs`: `needs`, `saved` and `can_fuse` are its
answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence


@dataclass(frozen=True)
class Dep:
    """An access to a buffer: dim d, of size ``size[d]``, is indexed by loop ``index[d]``."""

    name: str
    index: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Four bytes for each element that is touched."""
        return 4 * prod(dict(zip(self.index, self.size, strict=True)).values())


@dataclass(frozen=True)
class Node:
    """Loops that read buffers and write one, which has the node's name."""

    name: str
    ranges: tuple[int, ...]
    reduced: tuple[int, ...]
    reads: tuple[Dep, ...]
    extern: bool = False

    @property
    def write(self) -> Dep:
        """The access by which the node writes its buffer."""
        return Dep(self.name, tuple(range(len(self.ranges))), self.ranges)


Kernel = tuple[Node, ...]


def accesses(kernel: Kernel) -> set[Dep]:
    """Return what a kernel reads and writes."""
    return {dep for node in kernel for dep in (*node.reads, node.write)}


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


def same_loops(nodes: Kernel) -> bool:
    """Return whether one nest of loops serves all nodes."""
    shapes = {(node.ranges, node.reduced) for node in nodes if node.reduced}
    if not shapes:
        return len({node.ranges for node in nodes}) == 1
    ranges, reduced = max(shapes)
    allowed = {(ranges, reduced), (ranges, ()), (ranges + reduced, ())}
    return all((node.ranges, node.reduced) in allowed for node in nodes)


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


def stored(kernels: Sequence[Kernel], outputs: Collection[str]) -> set[str]:
    """Return the buffers that have to exist: outputs, and what goes from kernel to kernel."""
    written: set[str] = set()
    wanted = set(outputs)
    for kernel in kernels:
        own = {node.name for node in kernel}
        written |= own
        wanted |= {dep.name for dep in accesses(kernel)} - own
    return written & wanted
