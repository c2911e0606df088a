"""Batch norm over the rows of all ranks.

Each rank normalizes with the mean of its own rows. Four ranks with two rows each train a different
model from one rank with eight:

    all rows      1 2 | 3 4 | 5 6 | 7 8      mean 4.5
    rank 0        1 2                        mean 1.5

Write `BatchNorm.forward`, about 10 lines. `Sum` is given: the sum over the ranks, whose backward is
a sum as well. With it and ordinary operators, autograd finds the gradient, which flows to the rows
of all ranks.

- Reduce sums and counts, never means: a rank may have more rows than another, or none.
- Compute the variance from the deviations from the mean: the mean of squares minus the square of
  the mean loses precision if the mean is large.

Begin with three ranks of 2, 2 and 1 rows: why is the mean of their means wrong?
Afterwards read ``SyncBatchNorm.forward`` in ``torch/nn/modules/_functions.py``, in site-packages.
Real life differs: SyncBatchNorm needs a GPU, and gathers mean, 1 / deviation and count in one
message.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn


class Sum(torch.autograd.Function):
    """Sum over the ranks when each rank has its own loss, as in k10. Given."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum, without writing to x."""
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the sum of all ranks' gradients."""
        return Sum.apply(grad)


class BatchNorm(nn.BatchNorm1d):
    """Normalizes with the mean and the variance of the rows of all ranks.

    It has weight, bias and running statistics. In eval mode it behaves like its base class, and
    sends nothing.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the normalized rows of this rank, of x (rows, features).

        `running_mean` and `running_var` move by ``momentum`` (a number) towards the mean and the
        unbiased variance, n / (n - 1) times the biased one; n counts the rows of all ranks, at
        least 2. Normalize with the biased variance and `eps`.
        """
        # TODO: what is the number of rows, their sum, and the sum of their deviations?
        raise NotImplementedError("BatchNorm.forward")
