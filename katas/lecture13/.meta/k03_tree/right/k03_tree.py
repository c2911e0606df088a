"""Another solution: the tree of gloo, in which the parent lacks the highest bit."""

from __future__ import annotations

import torch
from torch import distributed as dist


def parent(rank: int, root: int, size: int) -> int | None:
    """Return the rank from which `rank` gets what `root` broadcasts; None for the root."""
    place = (rank + size - root) % size
    highest = 1 << place.bit_length() >> 1
    return (place - highest + root) % size if place else None


def children(rank: int, root: int, size: int) -> list[int]:
    """Return the ranks to which `rank` passes it on, in the order in which it does so."""
    place = (rank + size - root) % size
    rounds = range(place.bit_length(), size.bit_length())
    return [(place + 2**i + root) % size for i in rounds if place + 2**i < size]


def broadcast(tensor: torch.Tensor, root: int) -> None:
    """Replace the tensor by the root's."""
    me, n = dist.get_rank(), dist.get_world_size()
    source = parent(me, root, n)
    if source is not None:
        dist.recv(tensor, src=source)
    for child in children(me, root, n):
        dist.send(tensor, dst=child)


def reduce(tensor: torch.Tensor, root: int) -> None:
    """Replace the root's tensor by the sum over all ranks."""
    me, n = dist.get_rank(), dist.get_world_size()
    total = tensor.clone()
    for child in children(me, root, n)[::-1]:
        part = torch.empty_like(tensor)
        dist.recv(part, src=child)
        total += part
    target = parent(me, root, n)
    if target is None:
        tensor.copy_(total)
    else:
        dist.send(total, dst=target)


def all_reduce(tensor: torch.Tensor) -> None:
    """Replace the tensor by the sum over all ranks, by recursive doubling."""
    me, n = dist.get_rank(), dist.get_world_size()
    bits = n.bit_length() - 1
    power = 2**bits
    other = torch.empty_like(tensor)
    # The guests' hosts are the last of the p.
    if me >= power:
        dist.send(tensor, 2 * power - 1 - me)
        dist.recv(tensor, 2 * power - 1 - me)
        return
    guest = 2 * power - 1 - me
    if guest < n:
        dist.recv(other, guest)
        tensor += other
    for bit in range(bits):
        partner = me ^ (1 << bit)
        requests = [dist.irecv(other, partner), dist.isend(tensor, partner)]
        for request in requests:
            request.wait()
        tensor += other
    if guest < n:
        dist.send(tensor, guest)
