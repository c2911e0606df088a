"""Debug: ranks that have different numbers of things.

The last shard has fewer batches, one rank found the best weights, the answers have different
lengths. Each of the functions below is written as if all ranks were alike:

    rank 0    3 batches    all_reduce  all_reduce  all_reduce ...
    rank 1    2 batches    all_reduce  all_reduce

Fix all three. Before they move data, the ranks tell each other what they must know, in one small
collective.

- The arguments keep their values, except `weights`.
- Whole numbers and dtypes are kept.

Begin with a list: what does a rank have to know to choose the number, the root, the shape?
Afterwards read ``Join`` in ``torch/distributed/algorithms/join.py``, in site-packages: it lets
ranks that have run out of data shadow the collectives of the others.
"""

from __future__ import annotations

import torch
from torch import distributed as dist


# TODO: fix them. Nothing here raises NotImplementedError: the code is written, but wrong.


def averages(batches: list[torch.Tensor], zero: torch.Tensor) -> list[torch.Tensor]:
    """For each step, return the average over the batches of the ranks that still have one.

    The number of batches differs from rank to rank, and may be 0; all ranks return the averages
    of all steps. `zero` is a tensor of zeros with the shape and dtype of a batch.
    """
    found = []
    for batch in batches:
        total = batch.clone()
        dist.all_reduce(total)
        found.append(total / dist.get_world_size())
    return found


def adopt_best(loss: float, weights: torch.Tensor) -> None:
    """Take the weights of the rank with the lowest loss, in place; ties go to the lowest rank.

    A loss is a Python float, and never NaN.
    """
    least = torch.tensor(loss, dtype=torch.float64)
    dist.all_reduce(least, dist.ReduceOp.MIN)
    best = dist.get_rank() if least.item() == loss else 0
    dist.broadcast(weights, best)


def gather_ragged(values: torch.Tensor) -> list[torch.Tensor]:
    """Return the 1-D tensors of all ranks, in rank order; lengths differ, and may be 0."""
    parts = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return parts
