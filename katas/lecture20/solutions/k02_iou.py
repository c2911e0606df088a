"""IoU of all pairs of boxes, in a dtype that can hold an area."""

from __future__ import annotations

import torch


def iou(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each pair, float64 [n, m].

    Boxes are rows x0, y0, x1, y1 of any dtype, [n, 4] and [m, 4], with x0 <= x1 and y0 <= y1. Two
    boxes without an area have an IoU of 0; nobody asks for their gradient. Other float boxes may
    require gradients.
    """
    a, b = first.double()[:, None], second.double()
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    both = sides.clamp(min=0).prod(-1)
    areas = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
    union = areas - both
    return torch.where(union > 0, both / union, 0.0)
