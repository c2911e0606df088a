"""A linear layer whose weight is spread over the ranks.

Each rank has a batch of its own and some rows of the weight. To compute anything it needs all of
them, for a moment, two times:

    forward     all-gather W     y = x @ W.T           forget W
    backward    all-gather W     grad_x = g @ W        forget W
                                 grad_W = g.T @ x      reduce-scatter: the mean, my rows of it

That is fully sharded data parallelism. Forgetting is half of it: keep W for backward, and only
gradients and moments are sharded (ZeRO 2, k06).

1. `shard`: this rank's rows, a copy.
2. `gather`: the whole weight, from the shards of all ranks.
3. `ShardedLinear`: forward and backward, about 20 lines in all. Send what the table says, also
   if x needs no gradient: other ranks' may.

All shards have equally many rows: `padded` adds zeros at the end, so the last shards may be
padding.

Begin on paper: 5 rows over 4 ranks. Which rows has rank 2, and which has rank 3?
Real life differs: ``fully_shard`` gathers the parameters of a group together, on another stream.
Afterwards read ``foreach_all_gather`` and ``foreach_reduce`` in
``torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch.nn import functional as F


def padded(whole: torch.Tensor) -> torch.Tensor:
    """Return a matrix with rows of zeros added, so that all ranks have equally many. Given."""
    return F.pad(whole, (0, 0, 0, -len(whole) % dist.get_world_size()))


def shard(weight: torch.Tensor) -> torch.Tensor:
    """Return this rank's rows of `padded` (weight), in memory of their own."""
    # TODO: the ranks' rows follow one another.
    raise NotImplementedError("shard")


def gather(part: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the weight, with `rows` rows, of which `part` is this rank's shard."""
    # TODO: one all_gather (or all_gather_into_tensor); the padding goes.
    raise NotImplementedError("gather")


class ShardedLinear(torch.autograd.Function):
    """``y = ShardedLinear.apply(x, part, rows)``: x (batch, in) times the transposed weight."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, part: torch.Tensor, rows: int) -> torch.Tensor:
        """Return y (batch, rows); backward must not find the whole weight in `ctx`."""
        # TODO: what is small enough to keep?
        raise NotImplementedError("ShardedLinear.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the gradients of x and, as the mean over all ranks, of `part`."""
        # TODO: gather again; then one reduce_scatter (or reduce_scatter_tensor).
        raise NotImplementedError("ShardedLinear.backward")
