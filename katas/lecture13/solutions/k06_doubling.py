"""All-reduce by recursive doubling."""

from __future__ import annotations

import torch
from torch import distributed as dist


def all_reduce(tensor: torch.Tensor) -> None:
    """Replace the tensor with the sum over all ranks, whose number is a power of two.

    Exchange with the neighbour first, then at distance 2, 4, ... Begin both messages of a round
    before you wait, and add only when your own message has been sent.
    """
    incoming = torch.empty_like(tensor)
    for bit in range(dist.get_world_size().bit_length() - 1):
        partner = dist.get_rank() ^ (1 << bit)
        sending = dist.isend(tensor, partner)
        dist.recv(incoming, partner)
        # Do not add to a tensor that is still being sent.
        sending.wait()
        tensor.add_(incoming)
