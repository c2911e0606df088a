"""Debug: three functions in which ranks wait forever, or get nonsense.

A collective returns when all ranks have called it. NCCL's watchdog gives up after ten minutes. If
the sizes do not match, the backend raises. If they match, the sum is wrong:

    rank 0    all_reduce(grad of "a")    all_reduce(grad of "b")
    rank 1    all_reduce(grad of "b")    all_reduce(grad of "a")      a + b, twice

Fix all three, one to three lines each, so that they do what the docstrings say.

Begin with one question for each: what decides whether, how often and in which order this rank calls
a collective? If only this rank knows, another rank may decide otherwise.
Afterwards run one with ``TORCH_DISTRIBUTED_DEBUG=DETAIL``: ``CollectiveFingerPrint`` in
``torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp`` compares what the ranks call.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


# TODO: fix them. Nothing here raises NotImplementedError: the code is written, but wrong.


def mean_on_first(loss: torch.Tensor) -> float | None:
    """Return the mean of the ranks' losses on rank 0, None elsewhere; `loss` keeps its value."""
    if dist.get_rank() == 0:
        total = loss.clone()
        dist.all_reduce(total)
        return total.item() / dist.get_world_size()
    return None


def sum_gradients(gradients: dict[str, torch.Tensor]) -> None:
    """Replace each gradient with its sum over the ranks, in place.

    Every rank has the same names, but in the order in which that rank's hooks ran.
    """
    for gradient in gradients.values():
        dist.all_reduce(gradient)


def sum_if_finite(gradient: torch.Tensor) -> bool:
    """Replace a gradient with its sum over the ranks, in place, and return True.

    But if a number in it is not finite, on any rank, return False and leave it unchanged, on all
    ranks.
    """
    if not gradient.isfinite().all():
        return False
    dist.all_reduce(gradient)
    return True
