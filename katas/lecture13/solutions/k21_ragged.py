"""Three functions for ranks that have different numbers of things."""

from __future__ import annotations

import torch
from torch import distributed as dist


def averages(batches: list[torch.Tensor], zero: torch.Tensor) -> list[torch.Tensor]:
    """For each step, return the average over the batches of the ranks that still have one.

    The number of batches differs from rank to rank, and may be 0; all ranks return the averages
    of all steps. `zero` is a tensor of zeros with the shape and dtype of a batch.
    """
    steps = torch.tensor(len(batches))
    dist.all_reduce(steps, dist.ReduceOp.MAX)
    found = []
    for step in range(int(steps)):
        # A rank without batches still takes part, and counts for nothing.
        total = batches[step].clone() if step < len(batches) else torch.zeros_like(zero)
        present = torch.tensor(int(step < len(batches)))
        dist.all_reduce(total)
        dist.all_reduce(present)
        found.append(total / present)
    return found


def adopt_best(loss: float, weights: torch.Tensor) -> None:
    """Take the weights of the rank with the lowest loss, in place; ties go to the lowest rank.

    A loss is a Python float, and never NaN.
    """
    losses = torch.empty(dist.get_world_size(), dtype=torch.float64)
    # Views of one number each, so all of them arrive in one tensor.
    dist.all_gather(list(losses.split(1)), torch.tensor([loss], dtype=torch.float64))
    dist.broadcast(weights, int(losses.argmin()))


def gather_ragged(values: torch.Tensor) -> list[torch.Tensor]:
    """Return the 1-D tensors of all ranks, in rank order; lengths differ, and may be 0."""
    lengths = torch.empty(dist.get_world_size(), dtype=torch.int64)
    dist.all_gather(list(lengths.split(1)), torch.tensor([len(values)]))
    padded = values.new_zeros(int(lengths.max()))
    padded[: len(values)] = values
    parts = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(parts, padded)
    return [part[:length] for part, length in zip(parts, lengths, strict=True)]
