"""Ring all-reduce: each rank sends less than twice its tensor, however many ranks there are.

If all send their gradient to rank 0, rank 0 is busy n - 1 times as long. In a ring each rank sends
to rank r + 1 only and receives from rank r - 1 only. The tensor is split into n chunks,
``flat.tensor_split(n)``. They travel round once and are added up on the way; then the complete ones
travel round again:

    three ranks      sends      receives and adds        complete at the end
    rank 0, step 0   chunk 2    chunk 1
            step 1   chunk 1    chunk 0                  chunk 0
    rank 1, step 0   chunk 0    chunk ?

1. `exchange`: one message out, one in.
2. `reduce_scatter`: n - 1 steps, after which chunk r is complete on rank r.
3. `all_gather`: n - 1 more steps, without adding.

About 14 lines. ``send`` returns when the other side receives: if all ranks send first, all wait.

Begin by finishing the table.
Afterwards read ``batch_isend_irecv`` in ``torch/distributed/distributed_c10d.py``.
Real life differs: NCCL also builds trees, and a switch that adds halves the bytes.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


def exchange(outgoing: torch.Tensor, incoming: torch.Tensor) -> None:
    """Send one tensor to the next rank while another arrives from the previous rank.

    Begin both before you wait for either, and wait for both: until then the tensors are in use.
    Use ``isend``, ``irecv``, ``send`` and ``recv`` of ``torch.distributed``.
    """
    # TODO: begin, then wait.
    raise NotImplementedError("exchange")


def reduce_scatter(flat: torch.Tensor) -> None:
    """Replace chunk r on rank r with the sum of that chunk over all ranks, in place.

    `flat` is contiguous, with one dim. The other chunks may hold anything afterwards; a chunk
    may be empty.
    """
    # TODO: which chunk does rank r send in step 0, so that chunk r arrives in step n - 2?
    raise NotImplementedError("reduce_scatter")


def all_gather(flat: torch.Tensor) -> None:
    """Copy chunk r of rank r to all other ranks, for all r, in place."""
    # TODO: the same direction, without adding.
    raise NotImplementedError("all_gather")


def all_reduce(flat: torch.Tensor) -> None:
    """Replace the tensor with the sum over all ranks. Given."""
    reduce_scatter(flat)
    all_gather(flat)
