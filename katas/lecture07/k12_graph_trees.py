"""Trees of CUDA graphs: which recording may be replayed, and who shares memory.

A graph writes to the addresses at which it was recorded. If somebody still holds a result that lies
there, a replay would destroy it. So ``torch.compile(mode="reduce-overhead")`` records a graph anew
for each way to reach it:

    root --- A -+- B     what of A is alive: {a}
                +- B     what of A is alive: {}, so this B may write over a
                +- C

A recording is found again by three things: where you are in the tree, the name of the graph, and
which earlier results are alive. Both B and C may use one piece of memory, since only one of them
follows A. Write `run` and `place`, about 14 lines in all.

Begin on paper: a lies at 0 to 4 and is alive. Where does a result of 3 go, where if a is dead?
Afterwards read the head of ``torch/_inductor/cudagraph_trees.py``, in site-packages.

Real life differs: liveness comes from weak references, memory from the caching allocator. And a
recording is also replayed where less is alive than when it was made: that destroys nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Node:
    """A recording: where the results lie that are alive after it, and what was recorded next."""

    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    children: dict[tuple[str, frozenset[str]], Node] = field(default_factory=dict)


def place(size: int, taken: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the lowest (start, end) of `size` that touches nothing of `taken`.

    Starts are at least 0; the pairs in `taken`, in any order, don't overlap. ``end - start`` is
    `size`, at least 1; to begin where another ends is fine.
    """
    # TODO: move up until what is taken begins high enough.
    raise NotImplementedError("place")


class Tree:
    """Graphs that follow one another, in one pool of memory. `current` is the last that ran."""

    def __init__(self) -> None:
        self.root = self.current = Node()
        self.recorded = 0

    def restart(self) -> None:
        """Begin a new iteration, in which nothing is alive. Given."""
        self.current = self.root

    def run(self, name: str, results: Mapping[str, int], alive: frozenset[str]) -> bool:
        """Run a graph after the current one; return whether a recording was replayed.

        `results` are the sizes of its results by name, `alive` those of earlier results that are
        held. If there is no recording yet, make one: each result gets a `place`, in the order of
        `results`, that touches neither what is alive nor one another, and `recorded` grows by 1.
        The node's `places` are those of what is alive and of its results.
        """
        # TODO: look for the child; else record it. Either way it is the current one then.
        raise NotImplementedError("run")
