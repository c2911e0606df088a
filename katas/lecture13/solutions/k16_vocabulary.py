"""Cross entropy over classes that are spread over the ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist


class Sum(torch.autograd.Function):
    """Sum over the ranks when all ranks compute the same loss, as in k15. Given."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum, without writing to x."""
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient, which each rank has in full."""
        return grad


def cross_entropy(logits: torch.Tensor, target: torch.Tensor, start: int) -> torch.Tensor:
    """Return what ``F.cross_entropy`` returns for the logits of all ranks, on each rank.

    `logits` (N, some classes) are this rank's, starting at class index `start`; `target` (N,) holds
    class indices, the same on all ranks. Each rank gets the gradient of its own logits. Logits may
    be 1000, or -inf where masked: subtract the maximum over all ranks, and do not multiply a logit
    by 0.
    """
    greatest = logits.detach().amax(1)
    dist.all_reduce(greatest, dist.ReduceOp.MAX)
    shifted = logits - greatest[:, None]
    exponentials = Sum.apply(shifted.exp().sum(1))
    classes = torch.arange(start, start + logits.size(1))
    # One rank has the target's logit; the others add 0.
    right = Sum.apply(torch.where(classes == target[:, None], shifted, 0).sum(1))
    return (exponentials.log() - right).mean()
