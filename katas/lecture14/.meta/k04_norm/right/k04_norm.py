"""Clip a gradient that lies in pieces: norms of norms, a tensor at a time."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import torch
from torch import distributed as dist
from torch.linalg import vector_norm


if TYPE_CHECKING:
    from collections.abc import Sequence


def total_norm(
    sharded: Sequence[torch.Tensor], replicated: Sequence[torch.Tensor], norm_type: float
) -> torch.Tensor:
    """Return the norm of all gradients together."""
    here = list(sharded)
    if dist.get_rank() == 0:
        # One rank speaks for all of them.
        here += replicated
    total = torch.zeros((), dtype=torch.float64)
    for grad in here:
        if not grad.numel():
            continue
        norm = vector_norm(grad, norm_type)
        total = torch.maximum(total, norm) if norm_type == inf else total + norm**norm_type
    dist.all_reduce(total, dist.ReduceOp.MAX if norm_type == inf else dist.ReduceOp.SUM)
    return total if norm_type == inf else total ** (1 / norm_type)


def clip_(
    sharded: Sequence[torch.Tensor],
    replicated: Sequence[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
) -> torch.Tensor:
    """Scale each gradient."""
    total = total_norm(sharded, replicated, norm_type)
    factor = min(1.0, max_norm / (total.item() + 1e-6)) if total.isfinite() else max_norm / total
    for grad in [*sharded, *replicated]:
        grad.mul_(factor)
    return total
