"""All pairs, with and without the pairs."""

from __future__ import annotations

import torch


def interactions(features: torch.Tensor) -> torch.Tensor:
    """Return the dot product of each pair of features: [batch, n * (n - 1) / 2].

    `features` is [batch, n, dim]. Pairs are in the order of the brief; a feature does not pair
    with itself. `batch`, n and `dim` may be 0, and n may be 1.
    """
    dots = features.bmm(features.mT)
    i, j = torch.tril_indices(features.shape[1], features.shape[1], -1)
    return dots[:, i, j]


def interaction_sum(features: torch.Tensor) -> torch.Tensor:
    """Return the sum of `interactions` for each sample of [batch, n, dim]: [batch].

    Create no tensor with more elements than `features`, unless n or `dim` is 0.
    """
    total = features.sum(1).square().sum(1)
    return (total - features.square().sum((1, 2))) / 2
