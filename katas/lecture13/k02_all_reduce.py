"""Ring all-reduce: every rank ends with the sum of all, and none sends more than twice its size.

If everybody sends its tensor to rank 0, rank 0 receives n - 1 tensors and sends as many: the more
ranks, the longer it takes. If the ranks stand in a ring, and each sends only to the next one, rank
``(r + 1) % n``, and receives only from the one before it, all connections are in use.

A tensor is cut into n chunks: chunk c is number c of ``tensor.tensor_split(n)``, so that sizes
differ by one at most. First chunks travel round the ring and are added up on their way, until each
rank has one that is complete; then the complete ones travel round once more. Write three
functions; `flat` is a contiguous tensor of one dim, and everything happens in it, in place. The
ranks are those of the default group. All pass tensors of the same shape and dtype.

- ``reduce_scatter(flat, op)``: n - 1 steps, in each of which a rank sends one chunk and receives
  one. At the end chunk r of rank r is complete: the sum, or the maximum, of this chunk in all
  ranks. The other chunks may hold anything. So the chunk that a rank sends first is not its own:
  which one has to go all the way round to end there?
- ``all_gather(flat)``: chunk r of rank r is complete; after n - 1 further steps all chunks of all
  ranks are.
- ``all_reduce(tensor, op="sum")``: both, for a tensor of any shape and any strides, in place.
  `op` is ``"sum"``, ``"max"`` or ``"avg"`` (the sum divided by n; floating point only).

What is sent and received is exact: 2(n - 1) messages by each rank, of one chunk each, also if it is
empty because there are fewer elements than ranks; nothing if n is 1. All ranks end with the same
bits. Numbers are added in the dtype of the tensor. Besides a contiguous tensor no more memory is
taken at a time than two tensors of the size of the largest chunk, whatever n is; one that is not
contiguous may be copied once, since gloo refuses to send what is not contiguous.

Use ``isend``, ``irecv``, ``send``, ``recv`` or ``batch_isend_irecv`` of ``torch.distributed``, and
no collective, and wait for each request. Beware: ``send`` may return only when the other side
receives, as gloo's does. If all ranks send first, nobody receives; if one of them receives first,
the others go on one by one. So begin both messages of a step before you wait for either.

About 20 lines. Out of scope: sub-groups, autograd, tensors whose elements share memory.

In PyTorch: ``torch/distributed/distributed_c10d.py`` (``all_reduce``, ``batch_isend_irecv``),
``torch/csrc/distributed/c10d/ProcessGroupGloo.cpp`` (``ProcessGroupGloo::allreduce``), which leaves
the algorithm to gloo (``gloo/allreduce.cc``: a ring by default) as ``ProcessGroupNCCL.cpp`` does to
NCCL. Of ranks that send each other messages, the busiest cannot send fewer bytes than here
(Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
A switch that adds up what passes through it halves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


def reduce_scatter(flat: torch.Tensor, op: str) -> None:
    """Complete chunk r in rank r; `op` is ``"sum"`` or ``"max"``."""
    # TODO: which chunk does rank r send in step 0, so that chunk r arrives in step n - 2?
    raise NotImplementedError("reduce_scatter")


def all_gather(flat: torch.Tensor) -> None:
    """Copy chunk r of rank r to all others, for all r."""
    # TODO: the same way round, without adding.
    raise NotImplementedError("all_gather")


def all_reduce(tensor: torch.Tensor, op: str = "sum") -> None:
    """Replace the tensor by the sum, the maximum or the average over all ranks."""
    # TODO: what if it is not contiguous? where is the least to divide?
    raise NotImplementedError("all_reduce")
