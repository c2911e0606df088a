"""Binomial trees, from messages between two ranks."""

from __future__ import annotations

import torch
from torch import distributed as dist


def parent(rank: int, root: int, size: int) -> int | None:
    """Return the rank that passes `root`'s broadcast to `rank`; None for the root."""
    place = (rank - root) % size
    if place == 0:
        return None
    # Without its lowest bit.
    return ((place & (place - 1)) + root) % size


def children(rank: int, root: int, size: int) -> list[int]:
    """Return the ranks to which `rank` passes the tensor on, one per round, in order.

    If a rank begins in the round after it was reached, all are reached in the fewest rounds
    possible: the smallest number with ``2 ** rounds >= size``.
    """
    place, bit, found = (rank - root) % size, 1, []
    # Any bit below its own lowest one; the root may set all of them.
    while place + bit < size and not place & bit:
        found.append((place + bit + root) % size)
        bit *= 2
    # The child of the highest bit has the most ranks behind it, and is served first.
    return found[::-1]


def broadcast(tensor: torch.Tensor, root: int) -> None:
    """Replace the tensor with the root's."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above = parent(rank, root, size)
    if above is not None:
        dist.recv(tensor, above)
    for child in children(rank, root, size):
        dist.send(tensor, child)


def reduce(tensor: torch.Tensor, root: int) -> None:
    """Replace the root's tensor with the sum over all ranks; the other ranks keep theirs."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above = parent(rank, root, size)
    total = tensor if above is None else tensor.clone()
    incoming = torch.empty_like(tensor)
    # Backwards: whoever was reached last has the fewest ranks behind it, and is ready first.
    for child in reversed(children(rank, root, size)):
        dist.recv(incoming, child)
        total.add_(incoming)
    if above is not None:
        dist.send(total, above)
