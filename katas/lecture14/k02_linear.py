"""A linear layer whose weight is spread over the ranks.

Each rank has its own batch and some rows of the weight. To compute, it briefly needs all rows,
twice:

    forward     all-gather W     y = x @ W.T           forget W
    backward    all-gather W     grad_x = g @ W        forget W
                                 grad_W = g.T @ x      reduce-scatter: the mean, my rows of it

That is fully sharded data parallelism. Forgetting W is half of it: if you keep W for backward, only
gradients and moments are sharded (ZeRO 2, k06).

1. `shard`: copy this rank's rows.
2. `gather`: assemble the whole weight from all ranks' shards.
3. `ShardedLinear`: forward and backward, about 20 lines in all. Send what the table says even if x
   needs no gradient: on other ranks it may.

All shards have the same number of rows: `padded` adds zeros at the end, so the last shards may be
padding.

Begin on paper: 5 rows over 4 ranks. Which rows do ranks 2 and 3 have?
Real life differs: ``fully_shard`` gathers a group of parameters together, on another stream.
Afterwards read ``foreach_all_gather`` and ``foreach_reduce`` in
``torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch.nn import functional as F


def padded(whole: torch.Tensor) -> torch.Tensor:
    """Return a matrix padded with rows of zeros, so that it divides evenly over ranks. Given."""
    return F.pad(whole, (0, 0, 0, -len(whole) % dist.get_world_size()))


def shard(weight: torch.Tensor) -> torch.Tensor:
    """Return a copy of this rank's rows of ``padded(weight)``, in memory of their own."""
    # TODO: rank 0 has the first rows, rank 1 the next.
    raise NotImplementedError("shard")


def gather(part: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the whole weight, `rows` rows without padding; `part` is this rank's shard."""
    # TODO: one all_gather (or all_gather_into_tensor); then drop the padding.
    raise NotImplementedError("gather")


class ShardedLinear(torch.autograd.Function):
    """``y = ShardedLinear.apply(x, part, rows)``: x (batch, in) times the transposed weight."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, part: torch.Tensor, rows: int) -> torch.Tensor:
        """Return y (batch, rows); do not keep the whole weight in `ctx`."""
        # TODO: what is small enough to keep?
        raise NotImplementedError("ShardedLinear.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the gradient of x, and that of `part` as the mean over all ranks."""
        # TODO: gather again; then one reduce_scatter (or reduce_scatter_tensor).
        raise NotImplementedError("ShardedLinear.backward")
