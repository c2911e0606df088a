"""World size: the same training on any number of ranks, to the last digits.

Data parallel training is meant to do what one process does with the whole batch. If all ranks
have equally many rows, a mean of the ranks' means is the mean, and much is right by luck. The
last batch of an epoch, sequences of different lengths, or a world of three are where it shows:
a sum may be added up over ranks, a mean may not. Which sums, and which counts?

- ``rows_of_rank(n)``: which of the rows 0 ... n - 1 of a batch this rank has, as a range. The
  ranks' ranges follow one another, the first n % world size of them are longer by one, and no row
  is there twice. (``DistributedSampler`` repeats some, unless it drops some.) A rank may have no
  row. It takes part in all collectives nevertheless, or the others would wait for it for ever.
- ``sum_over_ranks(x)``: the sum over all ranks, differentiable; x is not written to. Each rank
  has a loss of its own here, its rows' part of the total, and the derivative is that of the sum of
  all ranks' losses. So backward is a sum over ranks, too. (In tensor parallelism all ranks compute
  one and the same loss, and backward is the identity.)
- ``BatchNorm``, an ``nn.BatchNorm1d`` for x (rows, features): in training, mean and variance are
  those of the rows of all ranks, and so are ``running_mean`` and ``running_var``, which takes the
  unbiased variance (n / (n - 1) times the other; n is that of all ranks). The gradient of x flows
  through them: it, too, depends on all rows. Compute the variance from the deviations from the
  mean: the mean of squares minus the square of the mean loses its digits if the mean is large.
  There are two rows at least in the world; `eps`, `momentum` (a number), `weight` and `bias` are
  inherited. In eval mode it is what it inherits, and asks no other rank. (Not asked for:
  ``num_batches_tracked``, and a batch norm without weights or running statistics.)
- ``dropout(x, p, keys)``: a mask must belong to the sample, not to the rank or to what was drawn
  before. Row i of x (rows, features) is dropped as ``keys[i]`` says, a whole number: draw
  ``torch.rand(features, dtype=torch.float64)`` from a ``torch.Generator`` on the CPU that is
  seeded with this number; where the result is below p, the row becomes 0, elsewhere it is divided
  by 1 - p. The global generator is left alone. (keys: an int64 tensor, one for each row.)
- ``train_step(model, optimizer, x, y, keys, max_norm=...)``: one step on this rank's rows. Return
  the loss and the accuracy (floats), over all ranks. The model maps ``(x, keys)`` to logits (rows,
  classes); the loss is the cross entropy, the mean over all rows of the world whose target is not
  -100, which ``F.cross_entropy`` ignores. Accuracy is the share of the same rows whose greatest
  logit is the target's. After backward each parameter has the gradient of this mean; then, if the
  norm of all gradients together is above `max_norm`, they are scaled to have this norm (exactly, or
  as by ``nn.utils.clip_grad_norm_``, which multiplies by max_norm / (norm + 1e-6)), and the
  optimizer makes its step, after which the parameters are the same on all ranks. Gradients from
  before are not used. There is at least one target, and every parameter is used.

Mind that a mean over no rows is NaN, and 0 times NaN as well; and that the norm of the mean is
not the mean of the norms. Everything is float64 in the tests. About 50 lines. Call no
DistributedDataParallel and no ``nn.SyncBatchNorm`` (which wants a GPU, and does this in one go).

In PyTorch: ``torch/nn/modules/_functions.py`` (``SyncBatchNorm``, which gathers counts as well),
``torch/utils/data/distributed.py`` (``DistributedSampler``), ``torch/nn/utils/clip_grad.py``
(``clip_grad_norm_``), ``torch/distributed/algorithms/join.py`` (``Join``: what DDP offers to ranks
that run out of rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn


if TYPE_CHECKING:
    import torch


def rows_of_rank(n: int) -> range:
    """Return which of n rows this rank has."""
    # TODO: the first ranks may have one more.
    raise NotImplementedError("rows_of_rank")


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks; its gradient is a sum over all ranks as well."""
    # TODO: a torch.autograd.Function with the same in both directions.
    raise NotImplementedError("sum_over_ranks")


class BatchNorm(nn.BatchNorm1d):
    """Normalizes with the mean and the variance of the rows of all ranks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the normalized rows of this rank."""
        # TODO: how many rows are there, what is their sum, and what that of their deviations?
        raise NotImplementedError("BatchNorm.forward")


def dropout(x: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return rows in which elements are dropped as each row's key says."""
    # TODO: a generator for each row.
    raise NotImplementedError("dropout")


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
    # TODO: what must be known of the other ranks before backward, and what after it?
    raise NotImplementedError("train_step")
