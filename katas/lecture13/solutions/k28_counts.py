"""A training step whose sums and counts are added up over the ranks, and then divided."""

from __future__ import annotations

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    max_norm: float,
) -> tuple[float, float]:
    """Take a step on the rows of all ranks; return their mean loss and their accuracy.

    `x` and `y` are this rank's rows and targets, perhaps none; a target of -100 counts neither in
    the loss (``F.cross_entropy`` ignores it) nor in the accuracy. The loss is the mean over the
    targets of the world that count, at least one. Clip the norm of its whole gradient to
    `max_norm`, then step: the ranks' parameters stay equal. Old gradients are discarded, and every
    parameter is used.
    """
    optimizer.zero_grad()
    logits = model(x)
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
