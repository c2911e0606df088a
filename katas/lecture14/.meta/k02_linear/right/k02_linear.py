"""A linear layer whose weight is spread over the ranks, with collectives of one tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn


def padded(whole: torch.Tensor) -> torch.Tensor:
    """Return a matrix with rows of zeros added, so that all ranks have equally many. Given."""
    return nn.functional.pad(whole, (0, 0, 0, -len(whole) % dist.get_world_size()))


def shard(weight: torch.Tensor) -> torch.Tensor:
    """Return this rank's rows, in memory of their own."""
    full = padded(weight)
    each = len(full) // dist.get_world_size()
    part = full.new_empty(each, full.shape[1])
    return part.copy_(full[dist.get_rank() * each :][:each])


def gather(part: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the weight."""
    whole = part.new_empty(len(part) * dist.get_world_size(), *part.shape[1:])
    dist.all_gather_into_tensor(whole, part.detach().contiguous())
    return whole.narrow(0, 0, rows)


class ShardedLinear(torch.autograd.Function):
    """``y = ShardedLinear.apply(x, part, rows)``: x (batch, in) times the transposed weight."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, part: torch.Tensor, rows: int) -> torch.Tensor:
        """Return y (batch, rows)."""
        ctx.save_for_backward(x, part)
        ctx.rows = rows
        return nn.functional.linear(x, gather(part, rows))

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return the gradients of x and of `part`."""
        x, part = ctx.saved_tensors
        grad_x = grad.mm(gather(part, ctx.rows))
        mine = torch.empty_like(part)
        mean = padded(grad.t().mm(x)).div_(dist.get_world_size())
        dist.reduce_scatter_tensor(mine, mean)
        return grad_x if ctx.needs_input_grad[0] else None, mine, None
