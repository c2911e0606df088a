"""Batch norm with sums over all ranks."""

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
        if not self.training:
            return super().forward(x)
        rows = Sum.apply(x.new_tensor(x.size(0)))
        mean = Sum.apply(x.sum(0)) / rows
        centered = x - mean
        variance = Sum.apply(centered.square().sum(0)) / rows
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * rows / (rows - 1), self.momentum)
        return centered / (variance + self.eps).sqrt() * self.weight + self.bias
