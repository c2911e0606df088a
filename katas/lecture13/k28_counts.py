"""The same loss on any number of ranks: weigh by counts.

DistributedDataParallel averages gradients, and each rank's loss is a mean over its own targets:

    rank 0    5 targets    mean loss 1.0
    rank 1    1 target     mean loss 4.0       mean of the means 2.5, true mean 1.5

With the same number of targets on all ranks, that mean is right by luck. It goes wrong with the
last batch, padding and masks. Write `train_step`, about 14 lines.

- Reduce sums and counts, and divide once you have those of all ranks: a mean over no rows is NaN,
  and so is 0 times NaN.
- Use the norm of the whole gradient, after the sum: it is the same on all ranks.

Begin with the example: by what must rank 0 and rank 1 divide their summed losses before backward?
Afterwards read ``clip_grad_norm_`` in ``torch/nn/utils/clip_grad.py``, in site-packages.
Real life differs: with DDP, multiply the loss by the world size, because DDP divides by it.
"""

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
    # TODO: what must be known about the other ranks before backward, and what after it?
    raise NotImplementedError("train_step")
