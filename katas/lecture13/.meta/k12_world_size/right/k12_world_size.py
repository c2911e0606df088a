"""World size: statistics are merged as by Chan et al., and gradients weigh by counts."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


def rows_of_rank(n: int) -> range:
    """Count what the ranks before have."""
    size, rank = dist.get_world_size(), dist.get_rank()
    lengths = [len(range(r, n, size)) for r in range(size)]
    return range(sum(lengths[:rank]), sum(lengths[: rank + 1]))


class Total(torch.autograd.Function):
    """The same in both directions."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        """Reduce a copy."""
        y = torch.empty(x.shape, dtype=x.dtype).copy_(x)
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:
        """Likewise."""
        y = torch.empty(grad.shape, dtype=grad.dtype).copy_(grad)
        dist.all_reduce(y)
        return y


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Apply it."""
    return Total.apply(x)


class BatchNorm(nn.BatchNorm1d):
    """Each rank's own mean and deviations first, then those of the means."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Merge the statistics, and leave the rest to the functional form."""
        if self.training:
            n = len(x)
            own = x.sum(0) / max(n, 1)
            inner = ((x - own) ** 2).sum(0)
            total = sum_over_ranks(torch.tensor(float(n), dtype=x.dtype))
            # Some rank's mean, so that no large number is squared.
            about = sum_over_ranks(own.detach() * n) / total
            mean = about + sum_over_ranks((own - about) * n) / total
            var = sum_over_ranks(inner + n * (own - mean) ** 2) / total
            with torch.no_grad():
                m = self.momentum
                self.running_mean.copy_((1 - m) * self.running_mean + m * mean)
                self.running_var.copy_((1 - m) * self.running_var + m * var * total / (total - 1))
        else:
            mean, var = self.running_mean, self.running_var
        return torch.addcmul(self.bias, x - mean, self.weight * torch.rsqrt(var + self.eps))


def dropout(x: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Row by row."""
    rows = []
    for row, key in zip(x, keys, strict=True):
        generator = torch.Generator("cpu")
        generator.manual_seed(int(key))
        keeps = torch.rand(x.size(1), dtype=torch.float64, generator=generator) >= p
        rows.append(row * keeps / (1 - p))
    return torch.stack(rows) if rows else x.clone()


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    keys: torch.Tensor,
    *,
    max_norm: float,
) -> tuple[float, float]:
    """Backward of the sum; counts divide afterwards."""
    for p in model.parameters():
        p.grad = None
    logits = model(x, keys)
    known = y.ne(-100)
    total = F.cross_entropy(logits[known], y[known], reduction="sum")
    total.backward()
    flat = torch.cat(
        [
            *[p.grad.flatten() for p in model.parameters()],
            total.detach().view(1),
            (logits.argmax(1)[known] == y[known]).sum().view(1),
            known.sum().view(1),
        ]
    )
    dist.all_reduce(flat)
    flat = flat / flat[-1]
    sizes = [p.numel() for p in model.parameters()]
    gradient = flat[: sum(sizes)]
    # To the norm itself, without the little that clip_grad_norm_ adds to it.
    gradient = gradient * (max_norm / gradient.norm()).clamp(max=1)
    for p, part in zip(model.parameters(), gradient.split(sizes), strict=True):
        p.grad = part.view_as(p).clone()
    optimizer.step()
    return flat[-3].item(), flat[-2].item()
