"""Three collectives that autograd can go back through."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist


class Sum(torch.autograd.Function):
    """The sum over all ranks, on each rank. The input is never written to."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of the ranks' x."""
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's x."""
        return Sum.apply(grad)


class Gather(torch.autograd.Function):
    """All ranks' rows, concatenated."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the ranks' x, of equal shape, concatenated along dim 0."""
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's rows, with one ``dist.reduce_scatter``."""
        parts = [part.contiguous() for part in grad.chunk(dist.get_world_size())]
        mine = torch.empty_like(parts[dist.get_rank()])
        dist.reduce_scatter(mine, parts)
        return mine


class Swap(torch.autograd.Function):
    """All to all: the world's chunks are transposed."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Send the k-th of n equal chunks of rows to rank k; return what arrives, in rank order."""
        swapped = torch.empty(x.shape, dtype=x.dtype)
        dist.all_to_all_single(swapped, x.contiguous())
        return swapped

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's x."""
        return Swap.apply(grad)
