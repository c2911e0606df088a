"""Debug: a table over ranks, and gradients that are off.

Each rank has a batch of its own. One model has its table split by rows over the ranks, its dense
head under DistributedDataParallel. Another model has a copy of a small table on each rank, also
under DistributedDataParallel. Nothing raises, but there are three tickets:

    sharded             "With one batch for all ranks the rows are right. In training a rank gets
                         rows that none of its ids asked for."
    backward_mean       "The head learns as on one machine. The table's rows move twice as far on
                         two ranks, and three times as far on three."
    backward_sum        "An id that only one rank has moves half as far on two ranks as on one
                         machine, and a third as far on three."

Find and fix the bugs in this order, a line or two each.

Begin with one question about each gradient: whose code combines the ranks' shares, and does it
add them up or take their mean?
Afterwards read ``RowwiseParallel`` in ``torch/distributed/tensor/parallel/style.py``, in
site-packages: its two layouts, and what they default to.
Real life differs: torchrec's ``DistributedModelParallel`` chooses how to split each table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch import nn
from torch.nn import functional as F


if TYPE_CHECKING:
    import torch


# TODO: find and fix the three bugs. Nothing raises NotImplementedError here: the code is complete,
# but wrong.


def sharded(table: nn.Embedding, mesh: Any) -> nn.Module:
    """Split the table by rows over the ranks of `mesh`, which has one dim, and return it.

    Called with this rank's ids, [n, bag], it returns their rows, [n, bag, dim]. Ranks have
    different ids, but the same number of them.
    """
    # Not at the top: this import takes a second, and importing this file should not.
    from torch.distributed.tensor import Replicate  # noqa: PLC0415
    from torch.distributed.tensor.parallel import RowwiseParallel  # noqa: PLC0415
    from torch.distributed.tensor.parallel import parallelize_module  # noqa: PLC0415

    return parallelize_module(table, mesh, RowwiseParallel(input_layouts=Replicate()))


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
    return loss.item()


def backward_sum(table: nn.Module, ids: torch.Tensor, weights: torch.Tensor) -> float:
    """Set ``.grad`` of `table` to the gradient of the sum of all ranks' losses.

    `table` is a DistributedDataParallel of an ``nn.Embedding``, without a gradient yet. Return the
    loss of this rank, which is the weighted sum of the rows of its ids.
    """
    loss = (table(ids) * weights).sum()
    loss.backward()
    return loss.item()
