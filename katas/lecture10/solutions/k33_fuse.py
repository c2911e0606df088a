"""Fuse whatever saves the most, again and again."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from katas.lecture10.schedule import can_fuse
from katas.lecture10.schedule import needs
from katas.lecture10.schedule import saved


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from katas.lecture10.schedule import Kernel
    from katas.lecture10.schedule import Node


def prune(nodes: Sequence[Node], outputs: Collection[str]) -> list[Node]:
    """Return the nodes without those that no output needs."""
    wanted, kept = set(outputs), []
    # Backwards: all users of a node come before it.
    for node in reversed(nodes):
        if node.name in wanted:
            kept.append(node)
            wanted.update(read.name for read in node.reads)
    return kept[::-1]


def fuse(nodes: Sequence[Node]) -> list[Kernel]:
    """Return kernels, fused greedily: what saves the most is fused first."""
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
        # The new kernel takes the place of the second; what needs the first goes after it.
        before = needs(kernels)
        behind = [place for place in range(first, second) if first in before[place]]
        fused = kernels[first] + kernels[second]
        kernels[second : second + 1] = [fused, *(kernels[place] for place in behind)]
        for place in reversed((first, *behind)):
            del kernels[place]
