"""Trees of CUDA graphs: which recording can be replayed, and which results can share memory."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Node:
    """A recording: the places of the results alive after it, and the recordings that follow it."""

    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    children: dict[tuple[str, frozenset[str]], Node] = field(default_factory=dict)


def place(size: int, taken: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the lowest (start, end) of `size` that overlaps nothing in `taken`."""
    start = 0
    for low, high in sorted(taken):
        if start + size <= low:
            break
        start = high
    return start, start + size


class Tree:
    """Graphs that follow one another in one memory pool. `current` is the last one that ran."""

    def __init__(self) -> None:
        self.root = self.current = Node()
        self.recorded = 0

    def restart(self) -> None:
        """Begin a new iteration, in which nothing is alive. Given."""
        self.current = self.root

    def run(self, name: str, results: Mapping[str, int], alive: frozenset[str]) -> bool:
        """Run a graph after the current one; return whether a recording was replayed."""
        key = (name, alive)
        replays = key in self.current.children
        if not replays:
            places = {old: self.current.places[old] for old in alive}
            for new, size in results.items():
                places[new] = place(size, list(places.values()))
            self.current.children[key] = Node(places)
            self.recorded += 1
        self.current = self.current.children[key]
        return replays
