"""A linear layer whose weight is spread over the ranks."""

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
    return padded(weight).chunk(dist.get_world_size())[dist.get_rank()].clone()


def gather(part: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the whole weight, `rows` rows without padding; `part` is this rank's shard."""
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts)[:rows]


class ShardedLinear(torch.autograd.Function):
    """``y = ShardedLinear.apply(x, part, rows)``: x (batch, in) times the transposed weight."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, part: torch.Tensor, rows: int) -> torch.Tensor:
        """Return y (batch, rows); do not keep the whole weight in `ctx`."""
        ctx.save_for_backward(x, part)
        ctx.rows = rows
        return x @ gather(part, rows).t()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the gradient of x, and that of `part` as the mean over all ranks."""
        x, part = ctx.saved_tensors
        size, mine = dist.get_world_size(), torch.empty_like(part)
        dist.reduce_scatter(mine, list(padded(grad.t() @ x).chunk(size)))
        return grad @ gather(part, ctx.rows), mine / size, None
