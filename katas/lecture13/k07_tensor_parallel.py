"""Tensor parallelism: one layer on several ranks, and a sum where the parts meet.

A layer too large for one rank is cut: each rank has a part of the weight and computes a part of
the result. All ranks have the same input and compute the same loss. (Data parallelism does it the
other way round: the whole model everywhere, and a part of the batch.) Where must they talk?

Two functions, each the other's mirror image, do all of the talking:

- ``copy_to_ranks(x)``: a tensor that is the same on all ranks is used in different ways by them.
  Forward returns x. Backward sums the gradients of all ranks.
- ``sum_over_ranks(x)``: each rank has a part of a sum. Forward returns the sum over the ranks.
  Backward returns the gradient as it is: what comes after the sum is done by each rank as a whole,
  so each has the whole gradient already, and to add them up would count it once per rank.

In both directions, no tensor that is handed in is written to: others may use it too.

- ``shard(tensor, dim)``: this rank's part of a tensor that all ranks have, cut as by
  ``torch.chunk``: if the size does not divide evenly, the first parts are larger, and if there are
  fewer parts than ranks, the last ranks get a part of size 0. The part is contiguous, has memory
  of its own, and no more than it needs, so that the whole can be freed; it requires no gradient.
- ``ColumnParallelLinear(linear)`` has a part of the output features of an ``nn.Linear``: its
  parameters are ``weight`` and ``bias`` (None if linear has none), parts of linear's, which all
  ranks have with equal values, and which is not changed. It maps x, (..., in_features) and the
  same on all ranks, to this rank's output features. All results side by side are linear's.
- ``RowParallelLinear(linear)`` has a part of the input features, in the same attributes: of the
  bias nothing can be cut, each rank has it whole (and in memory of its own). It maps this rank's
  input features to all output features, the same on all ranks. The bias is added once.

One behind the other, with something elementwise between them, they make the MLP of a transformer:
the result of the first is what the second asks for, and nothing is sent between. There is one
all-reduce of the output in forward, and one of the gradient of x in backward; none if x requires
no gradient. The gradients of the parts are the parts of the unsplit layers' gradients.

- ``cross_entropy(logits, target, start)``: the last layer may be cut along the vocabulary. `logits`
  (N, part of the classes) are this rank's, from class number `start` on, at least one; `target`
  (N,) are the numbers of the right classes, the same on all ranks. Return what ``F.cross_entropy``
  returns of all logits, the mean over N, on each rank, and leave `logits` as they are. To gather
  them would send N times the vocabulary. What has to be known of the other ranks are three numbers
  for each row: the greatest logit (subtract it: logits may be 1000, or -inf where masked), the sum
  of the exponentials, and the target's logit. So at most three all-reduces of N numbers each, none
  in backward: each rank gets the gradient of its own logits.

Sums are ``dist.all_reduce``, and nothing else is sent. About 60 lines. Use neither
``torch.distributed.tensor`` nor ``torch.distributed.nn`` (where the derivative of a sum over
ranks is such a sum, since there each rank has a loss of its own).

In PyTorch: ``torch/distributed/tensor/parallel/style.py`` (``ColwiseParallel``,
``RowwiseParallel``), ``torch/distributed/tensor/parallel/loss.py`` (``loss_parallel``). Source:
Shoeybi et al., "Megatron-LM" (2019), section 3, whose f and g these functions are.
"""

from __future__ import annotations

import torch
from torch import nn


def copy_to_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return x; its gradient is the sum over all ranks."""
    # TODO: a torch.autograd.Function with an all-reduce in backward.
    raise NotImplementedError("copy_to_ranks")


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks; the gradient goes back as it is."""
    # TODO: a torch.autograd.Function with an all-reduce in forward.
    raise NotImplementedError("sum_over_ranks")


def shard(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return this rank's part of a tensor, cut as by torch.chunk, in memory of its own."""
    # TODO: the last ranks may get nothing.
    raise NotImplementedError("shard")


class ColumnParallelLinear(nn.Module):
    """Has a part of the output features of a linear layer."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        # TODO: which dim of the weight are the output features?
        raise NotImplementedError("ColumnParallelLinear")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return this rank's output features of an x that all ranks have."""
        # TODO: each rank uses x in its own way.
        raise NotImplementedError("ColumnParallelLinear.forward")


class RowParallelLinear(nn.Module):
    """Has a part of the input features of a linear layer."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        # TODO: the other dim; the bias whole.
        raise NotImplementedError("RowParallelLinear")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return all output features, of an x of which each rank has a part."""
        # TODO: what has to be summed, and what not?
        raise NotImplementedError("RowParallelLinear.forward")


def cross_entropy(logits: torch.Tensor, target: torch.Tensor, start: int) -> torch.Tensor:
    """Return the cross entropy of logits of which each rank has a part of the classes."""
    # TODO: three numbers for each row.
    raise NotImplementedError("cross_entropy")
