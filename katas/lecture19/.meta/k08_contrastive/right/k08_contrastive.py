"""A contrastive batch across ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist


def contrastive(images: torch.Tensor, captions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return the loss for pairs of rows, which are not normalised yet.

    A score is `scale` times the cosine. The loss is the mean of two mean cross entropies: of each
    image over all captions, and of each caption over all images.
    """
    normal = torch.nn.functional.normalize
    scores = scale * normal(images, dim=1) @ normal(captions, dim=1).t()
    pairs = torch.arange(len(images))
    entropy = torch.nn.functional.cross_entropy
    return (entropy(scores, pairs) + entropy(scores.t(), pairs)) / 2


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
        parts = [part.contiguous() for part in grad.chunk(dist.get_world_size())]
        mine = torch.empty_like(parts[0])
        dist.reduce_scatter(mine, parts)
        return mine


def share(images: torch.Tensor, captions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return this rank's part: what its own images and its own captions add to the loss.

    `images` and `captions` are this rank's pairs. `scale` is the same on all ranks; it gets this
    part's gradient.
    """
    normal = torch.nn.functional.normalize
    scores = scale * Gather.apply(normal(images, dim=1)) @ Gather.apply(normal(captions, dim=1)).t()
    lost = -scores.log_softmax(0).diagonal() - scores.log_softmax(1).diagonal()
    return lost.chunk(dist.get_world_size())[dist.get_rank()].sum() / (2 * len(scores))
