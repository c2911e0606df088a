"""Dependencies, greedy fusion, traffic and storages of loops that read and write buffers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence


@dataclass(frozen=True)
class Dep:
    """An access to a buffer: dim d, of size ``size[d]``, at loop number ``index[d]``. Given."""

    name: str
    index: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Four for each element that is touched."""
        return 4 * prod(dict(zip(self.index, self.size, strict=True)).values())


@dataclass(frozen=True)
class Node:
    """Loops that read buffers and write one, which has the node's name. Given."""

    name: str
    ranges: tuple[int, ...]
    reduced: tuple[int, ...]
    reads: tuple[Dep, ...]
    extern: bool = False

    @property
    def write(self) -> Dep:
        """What it writes."""
        return Dep(self.name, tuple(range(len(self.ranges))), self.ranges)


Kernel = tuple[Node, ...]


def prune(nodes: Sequence[Node], outputs: Collection[str]) -> list[Node]:
    """Return the nodes without those that no output needs."""
    wanted, kept = set(outputs), []
    # Backwards: all that use a node come before it.
    for node in reversed(nodes):
        if node.name in wanted:
            kept.append(node)
            wanted.update(read.name for read in node.reads)
    return kept[::-1]


def needs(kernels: Sequence[Kernel]) -> list[set[int]]:
    """Return for each kernel the positions of all that have to run before it."""
    writer = {node.name: place for place, kernel in enumerate(kernels) for node in kernel}
    result: list[set[int]] = []
    for place, kernel in enumerate(kernels):
        read = {dep.name for node in kernel for dep in node.reads}
        direct = {writer[name] for name in read & writer.keys()} - {place}
        result.append(direct.union(*(result[earlier] for earlier in direct)))
    return result


def _deps(kernel: Kernel) -> set[Dep]:
    """Return what a kernel reads and writes."""
    return {dep for node in kernel for dep in (*node.reads, node.write)}


def saved(first: Kernel, second: Kernel) -> int:
    """Return the bytes that both kernels read or write."""
    return sum(dep.bytes for dep in _deps(first) & _deps(second))


def _same_loops(nodes: Kernel) -> bool:
    """Return whether one nest of loops serves all nodes."""
    shapes = {(node.ranges, node.reduced) for node in nodes if node.reduced}
    if not shapes:
        return len({node.ranges for node in nodes}) == 1
    ranges, reduced = max(shapes)
    allowed = {(ranges, reduced), (ranges, ()), (ranges + reduced, ())}
    return all((node.ranges, node.reduced) in allowed for node in nodes)


def can_fuse(kernels: Sequence[Kernel], first: int, second: int) -> bool:
    """Return whether the kernels at two positions, the first before the second, may be one."""
    nodes = kernels[first] + kernels[second]
    if any(node.extern for node in nodes) or not _same_loops(nodes):
        return False
    writes = {node.name: node.write for node in kernels[first]}
    reads = [read for node in kernels[second] for read in node.reads]
    if any(read != writes.get(read.name, read) for read in reads):
        return False
    before = needs(kernels)
    return not any(first in before[third] for third in before[second])


def fuse(nodes: Sequence[Node]) -> list[Kernel]:
    """Return kernels, in which whatever saves most was fused first."""
    kernels: list[Kernel] = [(node,) for node in nodes]
    while True:
        pairs = [
            (score, first, second)
            for first, second in combinations(range(len(kernels)), 2)
            if (score := saved(kernels[first], kernels[second]))
            and can_fuse(kernels, first, second)
        ]
        if not pairs:
            return kernels
        _, first, second = max(pairs)
        # The new kernel takes the place of the second; what needs the first goes behind it.
        before = needs(kernels)
        behind = [place for place in range(first, second) if first in before[place]]
        kernels = [
            *(kernels[place] for place in range(second) if place not in {first, *behind}),
            kernels[first] + kernels[second],
            *(kernels[place] for place in behind),
            *kernels[second + 1 :],
        ]


def _stored(kernels: Sequence[Kernel], outputs: Collection[str]) -> set[str]:
    """Return the buffers that have to exist: outputs, and what goes from kernel to kernel."""
    written: set[str] = set()
    wanted = set(outputs)
    for kernel in kernels:
        own = {node.name for node in kernel}
        written |= own
        wanted |= {dep.name for dep in _deps(kernel)} - own
    return written & wanted


def traffic(kernels: Sequence[Kernel], outputs: Collection[str]) -> int:
    """Return the bytes that the kernels read from memory and write to it."""
    kept, total = _stored(kernels, outputs), 0
    for kernel in kernels:
        own = {node.name for node in kernel}
        moved = {dep for dep in _deps(kernel) if dep.name not in own or dep.name in kept}
        total += sum(dep.bytes for dep in moved)
    return total


def allocate(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, int]:
    """Return the number of the storage of each buffer that has to exist."""
    kept = _stored(kernels, outputs)
    last = {dep.name: at for at, kernel in enumerate(kernels) for dep in _deps(kernel)}
    last |= dict.fromkeys(outputs, len(kernels))
    plan: dict[str, int] = {}
    # Of each storage: its size, and the last kernel that needs what is in it.
    storages: dict[int, tuple[int, int]] = {}
    for at, kernel in enumerate(kernels):
        for node in kernel:
            if node.name not in kept:
                continue
            size = node.write.bytes
            taken = storages.items()
            free = (n for n, (room, until) in taken if room == size and until < at)
            number = next(free, len(storages))
            storages[number] = (size, last[node.name])
            plan[node.name] = number
    return plan
