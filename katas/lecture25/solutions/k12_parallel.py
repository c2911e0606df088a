"""Layouts for a batch per rank, and gradients of one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


if TYPE_CHECKING:
    import torch


def sharded(table: nn.Embedding, mesh: Any) -> nn.Module:
    """Split the table by rows over the ranks of `mesh`, which has one dim, and return it.

    Called with this rank's ids, [n, bag], it returns their rows, [n, bag, dim]. Ranks have
    different ids, but the same number of them.
    """
    # Not at the top: this import takes a second, and importing this file should not.
    from torch.distributed.tensor import Shard  # noqa: PLC0415
    from torch.distributed.tensor.parallel import RowwiseParallel  # noqa: PLC0415
    from torch.distributed.tensor.parallel import parallelize_module  # noqa: PLC0415

    return parallelize_module(
        table, mesh, RowwiseParallel(input_layouts=Shard(0), output_layouts=Shard(0))
    )


def backward_mean(
    table: nn.Module, head: nn.Module, ids: torch.Tensor, target: torch.Tensor
) -> float:
    """Give both modules the gradient of the mean squared error over all ranks, in ``.grad``.

    `table` comes from `sharded`, `head` is a DistributedDataParallel; neither has a gradient yet.
    All ranks have the same number of examples. Return the mean squared error over this rank's
    examples.
    """
    loss = F.mse_loss(head(table(ids).sum(1)), target)
    loss.backward()
    table.weight.grad.div_(dist.get_world_size())
    return loss.item()


def backward_sum(table: nn.Module, ids: torch.Tensor, weights: torch.Tensor) -> float:
    """Set ``.grad`` of `table` to the gradient of the sum of all ranks' losses.

    `table` is a DistributedDataParallel of an ``nn.Embedding``, without a gradient yet. Return the
    loss of this rank, which is the weighted sum of the rows of its ids.
    """
    loss = (table(ids) * weights).sum()
    (loss * dist.get_world_size()).backward()
    return loss.item()
