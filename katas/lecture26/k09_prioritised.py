"""Prioritised replay: draw from a sum tree.

Rows that surprised the agent are worth a second look: draw each with a probability proportional to
its priority. ``multinomial`` reads all priorities in each call, and they change on every step. In a
sum tree, a draw and an update each take as many steps as the tree has levels:

    tree[1]                    10                   node n has the children 2n and 2n + 1
    tree[2:4]            7            3
    tree[4:8]         5     2      3     0          the leaves: slot i is node 4 + i

    mark 5.5 of [0, 10):  5.5 < 7, go left;  5.5 >= 5, go right with 5.5 - 5: slot 1

1. `SumTree.update`: leaves first, then level by level to the root.
2. `SumTree.find`: from the root to the leaves.
3. `draw`. About 18 lines.

- Loop over levels only, never over slots or marks.

Begin on paper: which slot does mark 7 lead to, and which marks lead to slot 3?
Afterwards read ``multinomial`` in ``aten/src/ATen/native/Distributions.cpp``. Real life differs:
TorchRL's trees are in C++.
"""

from __future__ import annotations

import torch


class SumTree:
    """The priorities of 2 ** n slots, all 0 at first, and the sums above them.

    Each inner node is, to the last bit, the sum of its two children. ``tree[0]`` stays 0.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.tree = torch.zeros(2 * capacity, dtype=torch.float64)

    @property
    def total(self) -> torch.Tensor:
        """Return the sum of all priorities."""
        return self.tree[1]

    def update(self, slots: torch.Tensor, priorities: torch.Tensor) -> None:
        """Set the priorities of slots, and update the sums above them.

        A slot may occur twice, with the same priority. Priorities may be float32 and have a graph;
        do not keep it.
        """
        # TODO: self.capacity.bit_length() - 1 is the number of levels above the leaves.
        raise NotImplementedError("SumTree.update")

    def find(self, marks: torch.Tensor) -> torch.Tensor:
        """For each mark, return the slot whose part of [0, total) contains it: int64 of [marks].

        Marks are float64. The part of slot i begins at the sum of the priorities before it. A slot
        of priority 0 has no part: never return it, even if rounding leaves a mark at the end of the
        last part.
        """
        # TODO
        raise NotImplementedError("SumTree.find")


def draw(
    tree: SumTree, size: int, beta: float, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return slots and float64 importance-sampling weights, both of [size].

    Each slot is drawn by `find`, independently of the others and with replacement, with a
    probability proportional to its priority p. Its weight is ``p ** -beta``, divided by the largest
    weight of this batch.
    """
    # TODO
    raise NotImplementedError("draw")
