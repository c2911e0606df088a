"""Greedy NMS that remembers who dropped whom."""

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
    """Return the index of each box's owner, int64 [n], for boxes [n, 4] and scores [n].

    NaN is the best score, and among equal scores the first comes first, as in a stable ``argsort``.
    """
    owner = torch.full((len(boxes),), -1)
    for i in scores.argsort(descending=True, stable=True).tolist():
        if owner[i] == -1:
            above = iou(boxes[i : i + 1], boxes)[0] > threshold
            owner[above & (owner == -1)] = i
            owner[i] = i
    return owner


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the indices of the survivors, int64, in the order in which `owners` visits them."""
    order = scores.argsort(descending=True, stable=True)
    return order[owners(boxes, scores, threshold)[order] == order]
