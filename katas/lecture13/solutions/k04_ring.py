"""All-reduce in a ring, from messages between neighbours."""

from __future__ import annotations

import torch
from torch import distributed as dist


def exchange(outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """Send one tensor to the next rank while another arrives from the previous rank.

    Begin both before you wait for either, and wait for both: until then the tensors are in use.
    Use ``isend``, ``irecv``, ``send`` and ``recv`` of ``torch.distributed``.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    sending = dist.isend(outgoing, (rank + 1) % size)
    dist.recv(incoming, (rank - 1) % size)
    # Until then the tensor must not be written to.
    sending.wait()


def reduce_scatter(flat: torch.Tensor) -> None:
    """Replace chunk r on rank r with the sum of that chunk over all ranks, in place.

    `flat` is contiguous, with one dim. The other chunks may hold anything afterwards; a chunk
    may be empty.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = flat.tensor_split(size)
    # Chunk r starts at rank r + 1 and has been everywhere when it arrives at rank r.
    for step in range(1, size):
        mine = chunks[(rank - step - 1) % size]
        incoming = torch.empty_like(mine)
        exchange(chunks[(rank - step) % size], incoming)
        mine.add_(incoming)


def all_gather(flat: torch.Tensor) -> None:
    """Copy chunk r of rank r to all other ranks, for all r, in place."""
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = flat.tensor_split(size)
    for step in range(size - 1):
        exchange(chunks[(rank - step) % size], chunks[(rank - step - 1) % size])


def all_reduce(flat: torch.Tensor) -> None:
    """Replace the tensor with the sum over all ranks. Given."""
    reduce_scatter(flat)
    all_gather(flat)
