"""BatchNorm: one batch, two variances."""

from __future__ import annotations

import torch
from torch import nn


class BatchNorm(nn.Module):
    """Normalises each of `size` channels, like ``nn.BatchNorm1d``, with its names and defaults."""

    def __init__(self, size: int, eps: float = 1e-5, momentum: float | None = 0.1) -> None:
        """Make weight (ones), bias (zeros), running_mean (zeros), running_var (ones).

        Also make ``num_batches_tracked``, an integer 0. The first two learn; all five are saved.
        """
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_var", torch.ones(size))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (x - mean) / sqrt(var + eps) * weight + bias, for x (n, size) or (n, size, m).

        In training use the batch's mean and var, over all dims but the second, then remember them:
        running += momentum * (new - running), with the unbiased variance. If momentum is None the
        running values are means over the batches so far. In evaluation use the running values
        instead, and write nothing.
        """
        mean, var = self.running_mean, self.running_var
        if self.training:
            dims = [dim for dim in range(x.dim()) if dim != 1]
            mean, var = x.mean(dims), x.var(dims, correction=0)
            self.remember(mean.detach(), x.detach().var(dims))
        shape = (1, -1, *[1] * (x.dim() - 2))
        mean, scale = mean.view(shape), (var.view(shape) + self.eps).rsqrt()
        return (x - mean) * scale * self.weight.view(shape) + self.bias.view(shape)

    def remember(self, mean: torch.Tensor, var: torch.Tensor) -> None:
        """Count the batch, then move the running values towards `mean` and `var`, in place."""
        self.num_batches_tracked += 1
        factor = self.momentum
        if factor is None:
            factor = 1 / self.num_batches_tracked.item()
        self.running_mean.lerp_(mean, factor)
        self.running_var.lerp_(var, factor)
