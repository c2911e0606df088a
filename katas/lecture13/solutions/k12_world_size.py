"""World size: sums and counts are added up over ranks, and then divided."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


def rows_of_rank(n: int) -> range:
    """Return which of n rows this rank has."""
    rank = dist.get_rank()
    each, more = divmod(n, dist.get_world_size())
    start = rank * each + min(rank, more)
    return range(start, start + each + (rank < more))


class _SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        # Every rank's loss depends on this rank's x.
        return _SumOverRanks.apply(grad)


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks; its gradient is a sum over all ranks as well."""
    return _SumOverRanks.apply(x)


class BatchNorm(nn.BatchNorm1d):
    """Normalizes with the mean and the variance of the rows of all ranks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the normalized rows of this rank."""
        if not self.training:
            return super().forward(x)
        rows = sum_over_ranks(x.new_tensor(x.size(0)))
        mean = sum_over_ranks(x.sum(0)) / rows
        centered = x - mean
        variance = sum_over_ranks(centered.square().sum(0)) / rows
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * rows / (rows - 1), self.momentum)
        return centered / (variance + self.eps).sqrt() * self.weight + self.bias


def dropout(x: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return rows in which elements are dropped as each row's key says."""
    drawn = torch.empty(x.shape, dtype=torch.float64)
    for row, key in zip(drawn, keys.tolist(), strict=True):
        row.uniform_(generator=torch.Generator().manual_seed(key))
    return torch.where(drawn < p, 0, x / (1 - p))


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    keys: torch.Tensor,
    *,
    max_norm: float,
) -> tuple[float, float]:
    """Make a step on the rows of all ranks, and return their mean loss and their accuracy."""
    optimizer.zero_grad()
    logits = model(x, keys)
    loss = F.cross_entropy(logits, y, reduction="sum")
    right = (logits.argmax(1) == y).sum()
    targets = (y != -100).sum()
    totals = torch.stack([loss.detach(), right.to(loss), targets.to(loss)])
    dist.all_reduce(totals)

    # With the count of all ranks below it, what each rank has is a summand of the mean.
    (loss / totals[2]).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    # Only now: a norm of the whole gradient, which is the same on all ranks.
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    mean, accuracy, _ = (totals / totals[2]).tolist()
    return mean, accuracy
