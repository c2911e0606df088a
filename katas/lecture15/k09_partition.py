"""Give a delegate as much of a graph as it can take, and never a cycle.

An accelerator takes relu and add, but not sin. What it takes is cut out and becomes one call, which
needs all its inputs before it begins. Here it may not get everything at once:

    x ---> relu ---> sin ---> relu_1 ---> add        relu, relu_1 and add in one call:
             |                             ^         it waits for sin, and sin for its result
             +-----------------------------+

    [relu]   sin   [relu_1, add]                     runs

So nodes are merged, two groups at a time, until any further merge would close a cycle.

1. `has_cycle`: each partition is one call. Can the calls be made one after the other?
2. `partition`: begin with one partition for each node that is supported.

Begin on paper: a1 -> b1, b2 -> a2. Can [a1, a2] and [b1, b2] both be calls? About 22 lines.
Afterwards read ``CapabilityBasedPartitioner`` in ``torch/fx/passes/infra/partitioner.py``, in
site-packages.
"""

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
    # TODO: for each call, those that it waits for; then repeatedly remove what can run.
    raise NotImplementedError("has_cycle")


def partition(graph: Graph, supported: Collection[str]) -> list[list[str]]:
    """Return partitions without a cycle: each supported node is in one, and no other node is.

    No two of them could be merged without a cycle, so unrelated nodes are merged as well. The
    order does not matter.
    """
    # TODO: merge two, and look at all of them again.
    raise NotImplementedError("partition")
