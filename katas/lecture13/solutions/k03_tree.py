"""Binomial trees and recursive doubling, from messages between two ranks."""

from __future__ import annotations

import torch
from torch import distributed as dist


def parent(rank: int, root: int, size: int) -> int | None:
    """Return the rank from which `rank` gets what `root` broadcasts; None for the root."""
    place = (rank - root) % size
    if place == 0:
        return None
    # Without its lowest bit.
    return ((place & (place - 1)) + root) % size


def children(rank: int, root: int, size: int) -> list[int]:
    """Return the ranks to which `rank` passes it on, in the order in which it does so."""
    place = (rank - root) % size
    found = []
    bit = 1
    # Any bit below its own lowest one; the root may set all of them.
    while place + bit < size and not place & bit:
        found.append((place + bit + root) % size)
        bit *= 2
    # The child of the highest bit has the most ranks behind it, and is served first.
    return found[::-1]


def broadcast(tensor: torch.Tensor, root: int) -> None:
    """Replace the tensor by the root's."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above = parent(rank, root, size)
    if above is not None:
        dist.recv(tensor, above)
    for child in children(rank, root, size):
        dist.send(tensor, child)


def reduce(tensor: torch.Tensor, root: int) -> None:
    """Replace the root's tensor by the sum over all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above = parent(rank, root, size)
    total = tensor if above is None else tensor.clone()
    incoming = torch.empty_like(tensor)
    # Backwards: who was reached last has the fewest ranks behind it, and is ready first.
    for child in reversed(children(rank, root, size)):
        dist.recv(incoming, child)
        total.add_(incoming)
    if above is not None:
        dist.send(total, above)


def all_reduce(tensor: torch.Tensor) -> None:
    """Replace the tensor by the sum over all ranks, by recursive doubling."""
    rank, size = dist.get_rank(), dist.get_world_size()
    power = 1 << (size.bit_length() - 1)
    if rank >= power:
        dist.send(tensor, rank - power)
        dist.recv(tensor, rank - power)
        return
    incoming = torch.empty_like(tensor)
    guest = rank + power
    if guest < size:
        dist.recv(incoming, guest)
        tensor.add_(incoming)
    distance = 1
    while distance < power:
        partner = rank ^ distance
        sending = dist.isend(tensor, partner)
        dist.recv(incoming, partner)
        # What is being sent must not be added to.
        sending.wait()
        tensor.add_(incoming)
        distance *= 2
    if guest < size:
        dist.send(tensor, guest)
