"""Three functions whose collectives match on all ranks."""

from __future__ import annotations

import torch
from torch import distributed as dist


def mean_on_first(loss: torch.Tensor) -> float | None:
    """Return the mean of the ranks' losses on rank 0, None elsewhere; `loss` keeps its value."""
    total = loss.clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size() if dist.get_rank() == 0 else None


def sum_gradients(gradients: dict[str, torch.Tensor]) -> None:
    """Replace each gradient with its sum over the ranks, in place.

    Every rank has the same names, but in the order in which that rank's hooks ran.
    """
    for name in sorted(gradients):
        dist.all_reduce(gradients[name])


def sum_if_finite(gradient: torch.Tensor) -> bool:
    """Replace a gradient with its sum over the ranks, in place, and return True.

    But if a number in it is not finite, on any rank, return False and leave it unchanged, on all
    ranks.
    """
    finite = gradient.isfinite().all().int()
    dist.all_reduce(finite, dist.ReduceOp.MIN)
    if finite:
        dist.all_reduce(gradient)
    return bool(finite)
