"""Loop order: the same sums, several times faster, by the order in which memory is read."""

from __future__ import annotations

from itertools import pairwise

import torch


def recurrence(x: torch.Tensor, decay: float) -> torch.Tensor:
    """Return ``out`` with ``out[:, s] = x[:, s] + decay * out[:, s - 1]``."""
    # One row per step. A clone, since a transpose that is contiguous already would be x itself.
    steps = x.t().clone(memory_format=torch.contiguous_format)
    for before, step in pairwise(steps):
        step.add_(before, alpha=decay)
    return steps.t()
