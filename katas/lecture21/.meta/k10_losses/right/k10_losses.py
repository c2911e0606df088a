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
    if bool((labels == IGNORED).all()):
        return (logits * 0).sum()
    return functional.cross_entropy(logits, labels, ignore_index=IGNORED)


def in_parts(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]], weight: torch.Tensor
) -> torch.Tensor:
    """Return the weighted cross entropy of all parts, as if they were one batch.

    A part has logits and labels. Parts differ in the number and the size of their images; one may
    have no labelled pixel.
    """
    flat = torch.cat([x.flatten(2).transpose(1, 2).flatten(0, 1) for x, _ in parts])
    names = torch.cat([y.flatten() for _, y in parts])
    return functional.cross_entropy(flat, names, weight, ignore_index=IGNORED)


def edge_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean binary cross entropy; a target is between 0 and 1."""
    return (logits.clamp(min=0) - logits * target + torch.log1p((-logits.abs()).exp())).mean()


def focal_loss(logits: torch.Tensor, target: torch.Tensor, gamma: float) -> torch.Tensor:
    """Return the mean of -(1 - p) ** gamma * log(p), where p is the probability of the target.

    A target is 0 or 1, and p is sigmoid(logit) for 1. Logits are finite, gamma is not negative.
    """
    cross = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    other = torch.where(target == 1, -logits, logits).sigmoid()
    sure = other == 0
    power = torch.where(sure, 0.0 if gamma else 1.0, torch.where(sure, 1.0, other) ** gamma)
    return (power * cross).mean()


def shrunk(labels: torch.Tensor, factor: int) -> torch.Tensor:
    """Return labels [batch, height, width] at 1 / factor of the size, as int64.

    `factor` divides height and width. Each block of factor x factor pixels becomes the label of
    its first pixel.
    """
    rows = labels.long().unflatten(1, (-1, factor))[:, :, 0]
    return rows.unflatten(2, (-1, factor))[..., 0]
