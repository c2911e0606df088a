"""Trees: broadcast, reduce and all-reduce in about log2(n) rounds, not n - 1.

A ring uses all connections, but what is sent in it takes n - 1 steps to get round. For a small
tensor the number of steps is what costs. In a tree every rank that has the tensor passes it on at
once: 1, 2, 4, 8 ranks have it after 0, 1, 2, 3 rounds.

Time is counted in rounds: in a round a rank takes part in one message, as its sender or as its
receiver. (In part 3 it may send one and receive one.) The ranks are those of the default group, n
of them; `root` is any of them. Tensors are contiguous, of the same shape and dtype in all ranks.

**1.** The tree, for any n and any root, 0 <= root < n:

- ``parent(rank, root, size)``: from whom `rank` gets what the root broadcasts; None for the root.
- ``children(rank, root, size)``: a list of those to whom it passes it on, one in each round, in
  this order.

If the root begins, and each rank begins in the round after it was reached, then all have been
reached after the smallest number of rounds with which 2 ** rounds >= n. Any tree that does this
is fine. For a root of 0 think of the rank in binary; another root only renames the ranks.

**2.** Along this tree, by ``dist.send`` and ``dist.recv`` alone, n - 1 messages in all:

- ``broadcast(tensor, root)``: all ranks' tensors become the root's, in place.
- ``reduce(tensor, root)``: the root's tensor becomes the sum of all, in place; those of the others
  are as before when it returns. A broadcast run backwards, in as many rounds. Which of its
  children can a rank receive from first, without waiting?

**3.** ``all_reduce(tensor)``: all ranks' tensors become the sum of all, in place, with the same
bits everywhere, by recursive doubling. If n is a power of two, there are log2(n) rounds; in each of
them two ranks exchange what they have so far and both add it up, first with the neighbour, then at
distance 2, 4, ... So each rank sends log2(n) messages. If n is no power of two, let p be the
largest one below it: each of the n - p ranks beyond first hands its tensor to one of the p, each to
another one, and gets the sum from it at the end: 2(n - p) messages besides those of the p. Use
``send``, ``recv``, ``isend`` and ``irecv``, and wait for each request; two ranks that both call
``send`` first wait for each other, and if one of them receives first, they take two rounds: begin
both messages of an exchange before you wait for either.

About 35 lines; nothing is sent if n is 1. No collectives. Out of scope: sub-groups, operations
other than the sum, large tensors (for which Rabenseifner's halving and doubling sends less).

In PyTorch: ``torch/distributed/distributed_c10d.py`` (``broadcast``, ``reduce``) and
``torch/csrc/distributed/c10d/ProcessGroupGloo.cpp`` (``ProcessGroupGloo::broadcast``). Gloo's own
``gloo/broadcast.cc`` is a tree of this kind, its ``gloo/reduce.cc`` a ring. Thakur, Rabenseifner
and Gropp, "Optimization of collective communication operations in MPICH" (2005), compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


def parent(rank: int, root: int, size: int) -> int | None:
    """Return the rank from which `rank` gets what `root` broadcasts; None for the root."""
    # TODO: which bit of the rank was the last to be set on the way from the root?
    raise NotImplementedError("parent")


def children(rank: int, root: int, size: int) -> list[int]:
    """Return the ranks to which `rank` passes it on, in the order in which it does so."""
    # TODO: who has the most ranks behind it?
    raise NotImplementedError("children")


def broadcast(tensor: torch.Tensor, root: int) -> None:
    """Replace the tensor by the root's."""
    # TODO: from the parent to the children.
    raise NotImplementedError("broadcast")


def reduce(tensor: torch.Tensor, root: int) -> None:
    """Replace the root's tensor by the sum over all ranks."""
    # TODO: from the children to the parent.
    raise NotImplementedError("reduce")


def all_reduce(tensor: torch.Tensor) -> None:
    """Replace the tensor by the sum over all ranks, by recursive doubling."""
    # TODO: whom does a rank exchange with in round k? what about those beyond the power of two?
    raise NotImplementedError("all_reduce")
