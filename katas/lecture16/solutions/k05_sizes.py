"""Sizes that depend on data: make four programs exportable."""

from __future__ import annotations

import torch


def shifted(x: torch.Tensor) -> torch.Tensor:
    """Return x + 1 if the sum of x is positive, else x - 1."""
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def repeated(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """Return x, doubled n times; n is a 0-dim int64 tensor, from 0 to 100."""
    return x * 2.0**n


def positive_mean(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the positive elements, 0 if there are none; others may be NaN or -inf."""
    positive = x > 0
    return torch.where(positive, x, 0).sum() / positive.sum().clamp(min=1)


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its number of rows."""
    return x / x.shape[0]
