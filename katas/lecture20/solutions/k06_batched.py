"""Debug: one NMS for all classes, and two tickets."""

from __future__ import annotations

import torch


THRESHOLD = 0.5
# The scene of the second ticket: the first two boxes are equal, so one of them must go.
TWINS = torch.tensor([[0, 0, 0.25, 0.25], [0, 0, 0.25, 0.25], [900, 900, 1000, 1000]])


def iou(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the IoU of each pair of boxes, float64 [n, m]. Given: as in k02."""
    a, b = first.double()[:, None], second.double()
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    both = sides.clamp(min=0).prod(-1)
    areas = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
    union = areas - both
    return torch.where(union > 0, both / union, 0.0)


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the survivors, best first, int64. Given: as in k03."""
    left, kept = scores.argsort(descending=True, stable=True), []
    while len(left):
        kept.append(left[0])
        left = left[1:][iou(boxes[left[:1]], boxes[left[1:]])[0] <= threshold]
    return torch.stack(kept) if kept else left


def shifted(
    boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> torch.Tensor:
    """Move each class to a region of its own. Given, and wrong in two ways."""
    offsets = labels.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, threshold)


def negative() -> tuple[float, float, float, float]:
    """Return the box of class 1 that `shifted` moves exactly onto the box 0 0 10 10 of class 0."""
    return -11, -11, -1, -1


def large() -> int:
    """Return the smallest label for which `shifted` is wrong on TWINS, if all boxes have it."""
    return 4191


def batched_nms(
    boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> torch.Tensor:
    """Return the survivors of each class's own NMS, best score first, int64.

    Boxes are float32 or float64, and may have negative coordinates. Labels are any int64, even -1
    and 2**50. Classes stay apart even with a threshold of 0, so leave a gap between them. There may
    be no boxes.
    """
    wide, number = boxes.double(), labels.unique(return_inverse=True)[1]
    if len(wide):
        wide = wide + number[:, None] * (wide.max() - wide.min() + 1)
    return nms(wide, scores, threshold)
