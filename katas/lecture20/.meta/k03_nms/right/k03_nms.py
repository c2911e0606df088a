"""Greedy NMS with a list of boxes that shrinks."""

from __future__ import annotations

import torch


def iou(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the IoU of each pair of boxes, float64 [n, m]. Given: as in k02."""
    a, b = first.double()[:, None], second.double()
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    both = sides.clamp(min=0).prod(-1)
    areas = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
    union = areas - both
    return torch.where(union > 0, both / union, 0.0)


def owners(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the index of each box's owner, int64 [n], for boxes [n, 4] and scores [n]."""
    left = scores.sort(descending=True, stable=True).indices
    owner = torch.empty_like(left)
    while len(left):
        best, others = left[:1], left[1:]
        above = iou(boxes[others], boxes[best])[:, 0] > threshold
        owner[best] = best
        owner[others[above]] = best
        left = others[~above]
    return owner


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the indices of the survivors, int64, in the order in which `owners` visits them."""
    owner = owners(boxes, scores, threshold)
    kept = (owner == torch.arange(len(owner))).nonzero()[:, 0]
    return kept[scores[kept].argsort(descending=True, stable=True)]
