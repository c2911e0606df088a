"""A contrastive batch across ranks.

CLIP compares each image with each caption of the batch. In each row of scores the one on the
diagonal should win, and in each column too.

    scores       c0  c1  c2  c3        image i belongs to caption i
    i0           *   .   .   .    |
    i1           .   *   .   .    |    rank 0 has i0, i1, c0, c1
    i2           .   .   *   .
    i3           .   .   .   *         rank 1 has i2, i3, c2, c3

Two ranks that compare only their own rows solve a smaller, easier task. So all captions, and all
images, go to each rank.

1. `contrastive`: on one process.
2. `Gather.backward`: ``dist.all_gather`` alone has no gradient.
3. `share`: this rank's part of the loss. The parts sum to the loss of the whole batch, and after
   ``share(...).backward()`` each rank's rows have the gradient of that sum.

About 15 lines in all. Begin on paper: how many scores does rank 1 need, and in which column is the
caption of its first image?
Afterwards read ``_AllGather`` in ``torch/distributed/nn/functional.py``, in site-packages: it does
what this class does. In 2.13 that file's ``all_gather``, which calls it, is deprecated in favour
of ``torch.distributed._functional_collectives``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist


def contrastive(images: torch.Tensor, captions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return the loss for pairs of rows, which are not normalised yet.

    A score is `scale` times the cosine. The loss is the mean of two mean cross entropies: of each
    image over all captions, and of each caption over all images.
    """
    # TODO: torch.nn.functional.normalize and cross_entropy.
    raise NotImplementedError("contrastive")


class Gather(torch.autograd.Function):
    """The rows of all ranks, in rank order; all ranks have the same number. Forward is given."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows of all ranks, one below the other, on each rank."""
        every = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(every, rows.contiguous())
        return torch.cat(every)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of this rank's rows. Do not modify `grad`."""
        # TODO: how do the other ranks' losses depend on this rank's rows? One collective.
        raise NotImplementedError("Gather.backward")


def share(images: torch.Tensor, captions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return this rank's part: what its own images and its own captions add to the loss.

    `images` and `captions` are this rank's pairs. `scale` is the same on all ranks; it gets this
    part's gradient.
    """
    # TODO: where are this rank's pairs, among all?
    raise NotImplementedError("share")
