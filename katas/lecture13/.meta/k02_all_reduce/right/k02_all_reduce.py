"""Another solution: both messages of a step in one batch, chunks of a padded index."""

from __future__ import annotations

import torch
from torch import distributed as dist


def reduce_scatter(flat: torch.Tensor, op: str) -> None:
    """Complete chunk r in rank r; `op` is ``"sum"`` or ``"max"``."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for step in range(size - 1):
        target = _chunk(flat, rank - step - 2)
        arrived = torch.empty_like(target)
        _step(_chunk(flat, rank - step - 1), arrived)
        if op == "max":
            target.copy_(torch.maximum(target, arrived))
        else:
            target += arrived


def all_gather(flat: torch.Tensor) -> None:
    """Copy chunk r of rank r to all others, for all r."""
    rank = dist.get_rank()
    for step in range(dist.get_world_size() - 1):
        arrived = torch.empty_like(_chunk(flat, rank - step - 1))
        _step(_chunk(flat, rank - step), arrived)
        _chunk(flat, rank - step - 1).copy_(arrived)


def all_reduce(tensor: torch.Tensor, op: str = "sum") -> None:
    """Replace the tensor by the sum, the maximum or the average over all ranks."""
    flat = tensor.contiguous().flatten()
    reduce_scatter(flat, op)
    all_gather(flat)
    if op == "avg":
        flat /= dist.get_world_size()
    if flat.data_ptr() != tensor.data_ptr():
        tensor.copy_(flat.reshape(tensor.shape))


def _chunk(flat: torch.Tensor, number: int) -> torch.Tensor:
    """Return a view of chunk `number`, modulo the number of ranks."""
    size = dist.get_world_size()
    number %= size
    length, longer = divmod(flat.numel(), size)
    begin = number * length + min(number, longer)
    return flat.narrow(0, begin, length + (number < longer))


def _step(outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """Receive and send, in this order, at the same time."""
    rank, size = dist.get_rank(), dist.get_world_size()
    requests = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.irecv, incoming, (rank + size - 1) % size),
            dist.P2POp(dist.isend, outgoing, (rank + 1) % size),
        ]
    )
    for request in requests:
        request.wait()
