"""Fuse whatever saves the most, again and again.

Inductor's scheduler is greedy: of all pairs that may be fused, take the one that saves the most
bytes, and go on with the new list of kernels.

    x -> max -> sub -> exp -> sum -> div        a softmax: five loops, 4 reads of a row
         one kernel: x in, the quotient out     nothing else ever exists in memory

1. `prune`: a node that no output needs is dead.
2. `fuse`: the greedy loop.

About 20 lines; `can_fuse`, `saved` and `needs` are given in ``schedule.py`` next to this file.

Begin on paper: a new kernel takes the place of the second. Where does a kernel that was between the
two and needs the first go?
Afterwards read ``Scheduler.fuse_nodes_once`` in ``torch/_inductor/scheduler.py``. Real life
differs: there, one round tries all pairs, in the order of their scores.
"""

from __future__ import annotations

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
    """Return the nodes, in the same order, without those that no output needs.

    `outputs` are names. An output needs what its node reads, directly or through others.
    """
    # TODO: whatever needs a node comes after it.
    raise NotImplementedError("prune")


def fuse(nodes: Sequence[Node]) -> list[Kernel]:
    """Return kernels, tuples of nodes, in topological order.

    Begin with a kernel for each node. As long as two kernels can be fused and save more than 0
    bytes, fuse the pair that saves the most (any, if several do): the first's nodes, then the
    second's.
    """
    # TODO: again and again, fuse the pair that saves the most.
    raise NotImplementedError("fuse")
