"""Tensor parallelism: two mirror images of an all-reduce, and the layers between them."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


def _summed(x: torch.Tensor) -> torch.Tensor:
    # all_reduce writes to its argument, which may be somebody else's.
    total = x.clone()
    dist.all_reduce(total)
    return total


class _CopyToRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return _summed(grad)


class _SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return _summed(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


def copy_to_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return x; its gradient is the sum over all ranks."""
    return _CopyToRanks.apply(x)


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks; the gradient goes back as it is."""
    return _SumOverRanks.apply(x)


def shard(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return this rank's part of a tensor, cut as by torch.chunk, in memory of its own."""
    size = tensor.size(dim)
    longest = -(-size // dist.get_world_size())
    start = min(dist.get_rank() * longest, size)
    part = tensor.detach().narrow(dim, start, min(longest, size - start))
    return part.clone(memory_format=torch.contiguous_format)


class ColumnParallelLinear(nn.Module):
    """Has a part of the output features of a linear layer."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(shard(linear.weight, 0))
        self.bias = None if linear.bias is None else nn.Parameter(shard(linear.bias, 0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return this rank's output features of an x that all ranks have."""
        return F.linear(copy_to_ranks(x), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """Has a part of the input features of a linear layer."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(shard(linear.weight, 1))
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return all output features, of an x of which each rank has a part."""
        total = sum_over_ranks(F.linear(x, self.weight))
        # Behind the sum: in it, the bias would count once for each rank.
        return total if self.bias is None else total + self.bias


def cross_entropy(logits: torch.Tensor, target: torch.Tensor, start: int) -> torch.Tensor:
    """Return the cross entropy of logits of which each rank has a part of the classes."""
    greatest = logits.detach().amax(1)
    dist.all_reduce(greatest, dist.ReduceOp.MAX)
    logits = logits - greatest[:, None]
    exponentials = sum_over_ranks(logits.exp().sum(1))

    classes = torch.arange(start, start + logits.size(1))
    # One rank has the target's logit; the others add 0.
    right = sum_over_ranks(torch.where(classes == target[:, None], logits, 0).sum(1))
    return (exponentials.log() - right).mean()
