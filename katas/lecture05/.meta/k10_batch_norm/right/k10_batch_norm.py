"""By sums over rows, one row for each channel."""

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
        shape = (1, len(self.weight), *(1 for _ in x.shape[2:]))
        if not self.training:
            mean, var = self.running_mean.reshape(shape), self.running_var.reshape(shape)
        else:
            n = x.numel() // x.shape[1]
            rows = x.transpose(0, 1).reshape(x.shape[1], n)
            mean = rows.sum(1) / n
            squares = (rows - mean[:, None]).square().sum(1)
            with torch.no_grad():
                self.remember(mean, squares / (n - 1))
            mean, var = mean.reshape(shape), (squares / n).reshape(shape)
        centred = (x - mean) / (var + self.eps).sqrt()
        return centred * self.weight.reshape(shape) + self.bias.reshape(shape)

    def remember(self, mean: torch.Tensor, var: torch.Tensor) -> None:
        """Count the batch, then move the running values towards `mean` and `var`, in place."""
        self.num_batches_tracked.add_(1)
        share = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
        for running, new in ((self.running_mean, mean), (self.running_var, var)):
            running.mul_(1 - share).add_(share * new)
