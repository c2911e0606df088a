"""Debug: five functions of a segmentation run, and their tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional


if TYPE_CHECKING:
    from collections.abc import Sequence

IGNORED = 255


def pixel_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy of the labelled pixels.

    Without a labelled pixel the loss is 0, and backward gives the logits a gradient of 0.
    """
    total = functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
    return total / (labels != IGNORED).sum().clamp(min=1)


def in_parts(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]], weight: torch.Tensor
) -> torch.Tensor:
    """Return the weighted cross entropy of all parts, as if they were one batch.

    A part has logits and labels. Parts differ in the number and the size of their images; one may
    have no labelled pixel.
    """
    losses = [
        functional.cross_entropy(x, y, weight, ignore_index=IGNORED, reduction="sum")
        for x, y in parts
    ]
    weights = [weight[y[y != IGNORED]].sum() for _, y in parts]
    return torch.stack(losses).sum() / torch.stack(weights).sum()


def edge_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean binary cross entropy; a target is between 0 and 1."""
    return functional.binary_cross_entropy_with_logits(logits, target)


def focal_loss(logits: torch.Tensor, target: torch.Tensor, gamma: float) -> torch.Tensor:
    """Return the mean of -(1 - p) ** gamma * log(p), where p is the probability of the target.

    A target is 0 or 1, and p is sigmoid(logit) for 1. Logits are finite, gamma is not negative.
    """
    signed = torch.where(target == 1, logits, -logits)
    shares = (gamma * functional.logsigmoid(-signed)).exp()
    return -(shares * functional.logsigmoid(signed)).mean()


def shrunk(labels: torch.Tensor, factor: int) -> torch.Tensor:
    """Return labels [batch, height, width] at 1 / factor of the size, as int64.

    `factor` divides height and width. Each block of factor x factor pixels becomes the label of
    its first pixel.
    """
    return labels[:, ::factor, ::factor].long()
