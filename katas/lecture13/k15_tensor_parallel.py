"""Tensor parallelism: one layer on several ranks.

Layers too large for one rank are split: the first by its output features, the second by its input
features. Then nothing is sent between them.

          rank 0            rank 1
    x     all of it         all of it
          W[:half]          W[half:]         columns of the result
          relu              relu
          V[:, :half]       V[:, half:]      parts of a sum
          +------ sum over the ranks -----+

1. `Copy` and `Sum`: mirror images. The forward of each is the backward of the other.
2. The forwards of `ColumnParallel` and `RowParallel`.
3. Epilogue: `parallelized` does the same with ``parallelize_module``.

About 15 lines.

Begin with a question: all ranks compute the same loss. What is the gradient of one summand?
(In k10 each rank had its own loss.)
Afterwards read ``RowwiseParallel`` in ``torch/distributed/tensor/parallel/style.py``, in
site-packages.
Real life differs: Megatron also splits the sequence, and uses all-gather and reduce-scatter.
"""

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
        # TODO: a view will do.
        raise NotImplementedError("Copy.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the sum of all ranks' gradients, without writing to this one."""
        # TODO: one all_reduce.
        raise NotImplementedError("Copy.backward")


class Sum(torch.autograd.Function):
    """The sum of the ranks' tensors."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum over the ranks, without writing to x."""
        # TODO: one all_reduce.
        raise NotImplementedError("Sum.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient: each rank uses the whole sum, so each has the whole gradient."""
        # TODO: nothing is sent.
        raise NotImplementedError("Sum.backward")


class ColumnParallel(nn.Module):
    """Holds part of the output features of a linear layer."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = shard(linear.weight, 0), shard(linear.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return this rank's output features, for an x that all ranks have."""
        # TODO: F.linear, of what?
        raise NotImplementedError("ColumnParallel.forward")


class RowParallel(nn.Module):
    """Holds part of the input features of a linear layer, and the whole bias."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = shard(linear.weight, 1)
        self.bias = nn.Parameter(linear.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return all output features, for an x that is split over the ranks."""
        # TODO: what is summed, and what must not be?
        raise NotImplementedError("RowParallel.forward")


def parallelized(mlp: nn.Sequential, mesh: DeviceMesh) -> nn.Module:
    """Split ``mlp[0]`` by columns and ``mlp[2]`` by rows, with PyTorch's own styles.

    Use ``parallelize_module`` of ``torch.distributed.tensor.parallel``; import it here, since that
    takes a second.
    """
    # TODO: a plan, {"0": ..., "2": ...}.
    raise NotImplementedError("parallelized")
