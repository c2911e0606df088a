"""BatchNorm: one batch, two variances.

The loss is fine in training; after ``eval()`` it jumps, especially with small batches. A BatchNorm
has two kinds of statistics:

    normalise   with the mean and variance of this batch:  sum((x - mean)^2) / n
    remember    the mean, and another variance:              sum((x - mean)^2) / (n - 1)

Gradients go through the first. The second is for ``eval()``, and is stored in buffers. Write
`BatchNorm`, about 20 lines; its state dict must load into PyTorch's and back.

- Use torch operators, but not ``torch.nn.functional.batch_norm`` or ``torch.batch_norm``, which you
  are rebuilding.

Begin on paper: x is [0, 2], the remembered mean 0 and momentum 0.1. What is remembered after one
call?
Afterwards read ``_NormBase`` and ``_BatchNorm.forward`` in ``torch/nn/modules/batchnorm.py``, in
site-packages.
"""

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
        # TODO: two parameters, three buffers.
        raise NotImplementedError("BatchNorm.__init__")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (x - mean) / sqrt(var + eps) * weight + bias, for x (n, size) or (n, size, m).

        In training use the batch's mean and var, over all dims but the second, then remember them:
        running += momentum * (new - running), with the unbiased variance. If momentum is None the
        running values are means over the batches so far. In evaluation use the running values
        instead, and write nothing.
        """
        # TODO: reshape (size,) to (1, size) or (1, size, 1).
        raise NotImplementedError("BatchNorm.forward")

    def remember(self, mean: torch.Tensor, var: torch.Tensor) -> None:
        """Count the batch, then move the running values towards `mean` and `var`, in place."""
        # TODO: which factor makes the result the mean of n batches?
        raise NotImplementedError("BatchNorm.remember")
