"""Find out what breaks a graph, and rewrite it."""

from __future__ import annotations

import torch
from torch import nn


def flip(x: torch.Tensor) -> torch.Tensor:
    """Given, for you to rewrite: flip the sign of `x` if its sum is negative."""
    if x.sum() < 0:
        return -x
    return x * 1


def limit(x: torch.Tensor) -> torch.Tensor:
    """Given, for you to rewrite: divide by the largest magnitude if it is above 1."""
    largest = x.detach().abs().max().item()
    return x / max(largest, 1.0)


def report(x: torch.Tensor) -> torch.Tensor:
    """Given, for you to rewrite: print how large the intermediate values are."""
    y = x.sin() + x
    print("mean:", y.mean())  # noqa: T201 - that is the point
    return y.cos() * y


class Average(nn.Module):
    """Given, for you to rewrite: the mean of all inputs so far, each of shape (size,)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.steps = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        self.steps += 1
        self.mean += (x - self.mean) / self.steps
        return self.mean.clone()


def whole_flip(x: torch.Tensor) -> torch.Tensor:
    """Return what `flip` returns, from a single graph."""
    return torch.where(x.sum() < 0, -x, x)


def whole_limit(x: torch.Tensor) -> torch.Tensor:
    """Return what `limit` returns, from a single graph."""
    return x / x.detach().abs().max().clamp(min=1)


def whole_report(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `report` returns, and what it prints, from a single graph."""
    y = x.sin() + x
    return y.cos() * y, y.mean()


class WholeAverage(nn.Module):
    """The same as `Average`, with a single graph for all steps."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        # A Python number is a constant in the graph, with a guard; a tensor is an input.
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        # A new tensor: autograd has saved the old one, to divide by it in backward.
        self.steps = self.steps + 1
        self.mean += (x - self.mean) / self.steps
        return self.mean.clone()
