"""Clip gradients that are spread over several ranks."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import torch
from torch import distributed as dist


if TYPE_CHECKING:
    from collections.abc import Sequence


def total_norm(
    sharded: Sequence[torch.Tensor], replicated: Sequence[torch.Tensor], norm_type: float
) -> torch.Tensor:
    """Return the norm of all gradients, a float64 scalar: (sum of ``|g| ** p``) ``** (1 / p)``."""
    zero = torch.zeros(1, dtype=torch.float64)
    mine, common = (
        torch.cat([zero, *(g.flatten() for g in grads)]).abs() for grads in (sharded, replicated)
    )
    if norm_type == inf:
        total = torch.maximum(mine.max(), common.max())
        dist.all_reduce(total, dist.ReduceOp.MAX)
        return total
    total = (mine**norm_type).sum()
    dist.all_reduce(total)
    return (total + (common**norm_type).sum()) ** (1 / norm_type)


def clip_(
    sharded: Sequence[torch.Tensor],
    replicated: Sequence[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
) -> torch.Tensor:
    """Multiply each gradient by ``max_norm / (norm + 1e-6)``, but at most by 1."""
    total = total_norm(sharded, replicated, norm_type)
    for grad in (*sharded, *replicated):
        grad.mul_((max_norm / (total + 1e-6)).clamp(max=1))
    return total
