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
    scores = scale * normal(images) @ normal(captions).t()
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
        total = grad.clone()
        dist.all_reduce(total)
        return total.chunk(dist.get_world_size())[dist.get_rank()]


def share(images: torch.Tensor, captions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return this rank's part: what its own images and its own captions add to the loss.

    `images` and `captions` are this rank's pairs. `scale` is the same on all ranks; it gets this
    part's gradient.
    """
    normal = torch.nn.functional.normalize
    images, captions = normal(images), normal(captions)
    pairs = torch.arange(len(images)) + dist.get_rank() * len(images)
    rows = scale * images @ Gather.apply(captions).t()
    columns = scale * captions @ Gather.apply(images).t()
    entropy = torch.nn.functional.cross_entropy
    lost = entropy(rows, pairs, reduction="sum") + entropy(columns, pairs, reduction="sum")
    return lost / (2 * len(images) * dist.get_world_size())
