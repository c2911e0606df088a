"""Tensor parallelism: two mirror images of an all-reduce, and the layers between them."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.nn import functional as F


def shard(tensor: torch.Tensor, dim: int) -> nn.Parameter:
    """Return this rank's part of a tensor, split the way torch.chunk splits it. Given."""
    parts = tensor.detach().chunk(dist.get_world_size(), dim)
    return nn.Parameter(parts[dist.get_rank()].clone(memory_format=torch.contiguous_format))


class Copy(torch.autograd.Function):
    """The same tensor on all ranks; each rank uses it differently."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the sum of all ranks' gradients, without writing to this one."""
        total = grad.clone()
        dist.all_reduce(total)
        return total


class Sum(torch.autograd.Function):
    """The sum of the ranks' tensors."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum over the ranks, without writing to x."""
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient: each rank uses the whole sum, so each has the whole gradient."""
        return grad


class ColumnParallel(nn.Module):
    """Holds part of the output features of a linear layer."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = shard(linear.weight, 0), shard(linear.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return this rank's output features, for an x that all ranks have."""
        return F.linear(Copy.apply(x), self.weight, self.bias)


class RowParallel(nn.Module):
    """Holds part of the input features of a linear layer, and the whole bias."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = shard(linear.weight, 1)
        self.bias = nn.Parameter(linear.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return all output features, for an x that is split over the ranks."""
        # After the sum: in it, the bias would count once for each rank.
        return Sum.apply(F.linear(x, self.weight)) + self.bias


def parallelized(mlp: nn.Sequential, mesh: DeviceMesh) -> nn.Module:
    """Split ``mlp[0]`` by columns and ``mlp[2]`` by rows, with PyTorch's own styles.

    Use ``parallelize_module`` of ``torch.distributed.tensor.parallel``; import it here, since that
    takes a second.
    """
    from torch.distributed.tensor import parallel  # noqa: PLC0415 - takes a second

    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    return parallel.parallelize_module(mlp, mesh, plan)
