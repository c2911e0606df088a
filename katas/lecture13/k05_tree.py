"""Broadcast and reduce along a tree, in log2(n) rounds.

In a ring a tensor needs n - 1 steps to get everywhere. For four bytes, the steps are the whole
cost. In a binomial tree every rank that has the tensor passes it on, so their number doubles in
each round:

    round 1    0 -> 4
    round 2    0 -> 2    4 -> 6
    round 3    0 -> 1    4 -> 5    2 -> 3    6 -> 7

1. `parent` and `children`: the tree, for any number of ranks and any root.
2. `broadcast`: down the tree.
3. `reduce`: up the tree, in as many rounds. From which child can a rank receive first?

Send n - 1 messages in all, with ``dist.send`` and ``dist.recv``. About 22 lines.

Begin with the picture: write the ranks in binary, for root 0. Another root shifts the ranks, modulo
n.
Afterwards read ``broadcast`` in ``torch/distributed/distributed_c10d.py``, and ask what would suit
a large tensor better.
Real life differs: gloo broadcasts along such a tree; NCCL splits the tensor into pieces, which
follow each other along a ring, and uses trees for all-reduce.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


def parent(rank: int, root: int, size: int) -> int | None:
    """Return the rank that passes `root`'s broadcast to `rank`; None for the root."""
    # TODO: which bit of the rank was the last to be set on the way from the root?
    raise NotImplementedError("parent")


def children(rank: int, root: int, size: int) -> list[int]:
    """Return the ranks to which `rank` passes the tensor on, one per round, in order.

    If a rank begins in the round after it was reached, all are reached in the fewest rounds
    possible: the smallest number with ``2 ** rounds >= size``.
    """
    # TODO: which child has the most ranks behind it?
    raise NotImplementedError("children")


def broadcast(tensor: torch.Tensor, root: int) -> None:
    """Replace the tensor with the root's."""
    # TODO: from the parent to the children.
    raise NotImplementedError("broadcast")


def reduce(tensor: torch.Tensor, root: int) -> None:
    """Replace the root's tensor with the sum over all ranks; the other ranks keep theirs."""
    # TODO: from the children to the parent.
    raise NotImplementedError("reduce")
