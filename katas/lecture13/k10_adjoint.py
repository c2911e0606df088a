"""The derivative of a collective is a collective.

``dist.all_reduce`` has no backward: PyTorch warns, and your gradient is that of one rank. If the
loss is the sum of what all ranks compute, each rank's x affects the results of all ranks. So
backward has to communicate, too:

    forward                             backward
    y = sum of all x, on each rank      ?
    y = all x, concatenated             ?
    y = chunk k goes to rank k          ?

Write forward and backward of `Sum`, `Gather` and `Swap`, about 15 lines.

Begin on paper, with two ranks and numbers: y0 = y1 = x0 + x1, and loss = 3 y0 + 5 y1. What is the
derivative with respect to x0? Which rank knows the 3, and which the 5?
Afterwards read ``_AllGather.backward`` in ``torch/distributed/nn/functional.py``, in site-packages.
Real life differs: in tensor parallelism (k15) all ranks compute the same loss, and count it once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist


class Sum(torch.autograd.Function):
    """The sum over all ranks, on each rank. The input is never written to."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of the ranks' x."""
        # TODO: one all_reduce.
        raise NotImplementedError("Sum.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's x."""
        # TODO: which ranks' losses depend on it?
        raise NotImplementedError("Sum.backward")


class Gather(torch.autograd.Function):
    """All ranks' rows, concatenated."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the ranks' x, of equal shape, concatenated along dim 0."""
        # TODO: dist.all_gather fills a list.
        raise NotImplementedError("Gather.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's rows, with one ``dist.reduce_scatter``."""
        # TODO: each rank has a gradient of all rows.
        raise NotImplementedError("Gather.backward")


class Swap(torch.autograd.Function):
    """All to all: the world's chunks are transposed."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Send the k-th of n equal chunks of rows to rank k; return what arrives, in rank order."""
        # TODO: dist.all_to_all_single takes contiguous tensors.
        raise NotImplementedError("Swap.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's x."""
        # TODO: how does a chunk get back?
        raise NotImplementedError("Swap.backward")
