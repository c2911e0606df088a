"""Find out what breaks a graph, and rewrite it.

Four pieces of code are slow under ``torch.compile``. One is compiled in two pieces, one is
recompiled on every call, one waits for the data. Find out where each breaks, and rewrite it:

    TORCH_LOGS=graph_breaks,recompiles python -c "..."

    flip       whole_flip         values and gradients stay as they are;
    limit      whole_limit        one call compiles one graph (fullgraph=True),
    report     whole_report       and no later call with other data
    Average    WholeAverage       recompiles

About 10 lines. Stay on tensors: no ``.item()``, no custom operator, no ``torch.compiler.disable``.

Begin with ``torch.compile(flip, fullgraph=True)``, and read the whole error.
Afterwards read ``torch/_dynamo/decorators.py``: what would ``mark_dynamic`` promise?
"""

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
    # TODO: both branches are cheap.
    raise NotImplementedError("whole_flip")


def whole_limit(x: torch.Tensor) -> torch.Tensor:
    """Return what `limit` returns, from one graph that turns no tensor into a Python number."""
    # TODO: stay on tensors.
    raise NotImplementedError("whole_limit")


def whole_report(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `report` returns, and the mean as a tensor without dims; print nothing."""
    # TODO: return what should be printed.
    raise NotImplementedError("whole_report")


class WholeAverage(nn.Module):
    """The same as `Average`, with a single graph for all steps; `mean` and `steps` are buffers."""

    def __init__(self, size: int) -> None:
        super().__init__()
        # TODO: a compiled graph reads and writes tensors.
        raise NotImplementedError("WholeAverage")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        # TODO: one step; autograd has saved `steps` of the previous one.
        raise NotImplementedError("WholeAverage.forward")
