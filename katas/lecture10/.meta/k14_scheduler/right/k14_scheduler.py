"""Paths are searched for from node to node, and the order is sorted anew at the end."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
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
    by_name = {node.name: node for node in nodes}
    alive: set[str] = set()
    waiting = [name for name in outputs if name in by_name]
    while waiting:
        name = waiting.pop()
        if name not in alive:
            alive.add(name)
            waiting += [read.name for read in by_name[name].reads if read.name in by_name]
    return [node for node in nodes if node.name in alive]


def _direct(kernels: Sequence[Kernel]) -> dict[int, set[int]]:
    return {
        place: {
            other
            for other, writers in enumerate(kernels)
            if other != place
            and {writer.name for writer in writers}
            & {r.name for node in kernel for r in node.reads}
        }
        for place, kernel in enumerate(kernels)
    }


def _reached(graph: dict[int, set[int]], starts: set[int]) -> set[int]:
    seen: set[int] = set()
    waiting = list(starts)
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting += graph[place]
    return seen


def needs(kernels: Sequence[Kernel]) -> list[set[int]]:
    """Return for each kernel the positions of all that have to run before it."""
    graph = _direct(kernels)
    return [_reached(graph, graph[place]) for place in range(len(kernels))]


def _accesses(kernel: Kernel) -> dict[Dep, None]:
    found: dict[Dep, None] = {}
    for node in kernel:
        found |= dict.fromkeys(node.reads)
        found[node.write] = None
    return found


def saved(first: Kernel, second: Kernel) -> int:
    """Return the bytes that both kernels read or write."""
    theirs = _accesses(second)
    return sum(dep.bytes for dep in _accesses(first) if dep in theirs)


def can_fuse(kernels: Sequence[Kernel], first: int, second: int) -> bool:
    """Return whether the kernels at two positions, the first before the second, may be one."""
    nodes = [*kernels[first], *kernels[second]]
    reductions = [node for node in nodes if node.reduced]
    pointwise = [node for node in nodes if not node.reduced]
    if any(node.extern for node in nodes):
        return False
    model = (reductions or pointwise)[0]
    for node in reductions:
        if node.ranges != model.ranges or node.reduced != model.reduced:
            return False
    for node in pointwise:
        if node.ranges not in (model.ranges, model.ranges + model.reduced):
            return False
    for writer in kernels[first]:
        for node in kernels[second]:
            for read in node.reads:
                if read.name == writer.name and read.index != writer.write.index:
                    return False
    graph = _direct(kernels)
    # Without the step from the second to the first itself, is there another way?
    return first not in _reached(graph, graph[second] - {first})


def fuse(nodes: Sequence[Node]) -> list[Kernel]:
    """Return kernels, in which whatever saves most was fused first."""
    kernels: list[Kernel] = [(node,) for node in nodes]
    while True:
        best, pair = 0, (0, 0)
        for first in range(len(kernels)):
            for second in range(first + 1, len(kernels)):
                score = saved(kernels[first], kernels[second])
                # Of several that save as much, the last.
                if score and score >= best and can_fuse(kernels, first, second):
                    best, pair = score, (first, second)
        if not best:
            return kernels
        joined = kernels[pair[0]] + kernels[pair[1]]
        apart = [kernel for place, kernel in enumerate(kernels) if place not in pair]
        kernels = [joined, *reversed(apart)]
        kernels = [kernels[place] for place in TopologicalSorter(_direct(kernels)).static_order()]


def _spans(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, tuple[int, int, int]]:
    spans = {}
    for begin, kernel in enumerate(kernels):
        for node in kernel:
            ends = [
                place
                for place, other in enumerate(kernels)
                if place != begin and any(r.name == node.name for each in other for r in each.reads)
            ]
            if node.name in outputs:
                ends.append(len(kernels))
            if ends:
                spans[node.name] = (node.write.bytes, begin, max(ends))
    return spans


def traffic(kernels: Sequence[Kernel], outputs: Collection[str]) -> int:
    """Return the bytes that the kernels read from memory and write to it."""
    written = sum(size for size, _, _ in _spans(kernels, outputs).values())
    read = 0
    for kernel in kernels:
        own = [node.name for node in kernel]
        outside = {dep for node in kernel for dep in node.reads if dep.name not in own}
        read += sum(dep.bytes for dep in outside)
    return read + written


def allocate(kernels: Sequence[Kernel], outputs: Collection[str]) -> dict[str, int]:
    """Return the number of the storage of each buffer that has to exist."""
    spans = _spans(kernels, outputs)
    free: dict[int, list[int]] = {}
    plan: dict[str, int] = {}
    count = 0
    for place in range(len(kernels)):
        for name, (size, begin, _) in spans.items():
            if begin == place:
                numbers = free.setdefault(size, [])
                plan[name] = numbers.pop() if numbers else count
                count += plan[name] == count
        for name, (size, _, end) in spans.items():
            if end == place:
                free[size].append(plan[name])
    return plan
