"""Trees of CUDA graphs: which recording can be replayed, and which results can share memory.

A graph writes to the addresses at which it was recorded. If somebody still holds a result there, a
replay would destroy it. So ``torch.compile(mode="reduce-overhead")`` records a graph again for each
way to reach it:

    root --- A -+- B     alive after A: {a}
                +- B     alive after A: {}, so this B may overwrite a
                +- C

Three things identify a recording: where you are in the tree, the name of the graph, and which
earlier results are alive. B and C may use the same memory, since only one of them follows A. Write
`run` and `place`, about 14 lines in all.

Begin on paper: a occupies 0 to 4 and is alive. Where does a result of size 3 go, and where if a is
dead?
Afterwards read the head of ``torch/_inductor/cudagraph_trees.py``, in site-packages.

Real life differs: weak references show what is alive, and the caching allocator provides memory. A
recording is also replayed if fewer results are alive than when it was made: that destroys nothing.
"""

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
    """Return the lowest (start, end) of `size` that overlaps nothing in `taken`.

    Starts are at least 0; the pairs in `taken`, in any order, don't overlap. ``end - start`` is
    `size`, at least 1; beginning where another one ends is fine.
    """
    # TODO: move up until the next taken place begins high enough.
    raise NotImplementedError("place")


class Tree:
    """Graphs that follow one another in one memory pool. `current` is the last one that ran."""

    def __init__(self) -> None:
        self.root = self.current = Node()
        self.recorded = 0

    def restart(self) -> None:
        """Begin a new iteration, in which nothing is alive. Given."""
        self.current = self.root

    def run(self, name: str, results: Mapping[str, int], alive: frozenset[str]) -> bool:
        """Run a graph after the current one; return whether a recording was replayed.

        `results` maps the names of its results to sizes; `alive` names the earlier results still
        held. Without a recording, make one: give each result a `place`, in the order of `results`,
        that overlaps neither what is alive nor the other results, and add 1 to `recorded`. The
        node's `places` are those of what is alive and of its results.
        """
        # TODO: look up the child, or record it. Either way it becomes the current node.
        raise NotImplementedError("run")
