"""Debug: one NMS for all classes, and two tickets.

A cat's box must not drop a dog's. Instead of a loop over classes, libraries move each class to a
region of its own, so that one call of `nms` is enough. Here `shifted` does this, as torchvision
0.28 does in `batched_nms` for up to 1,000 boxes on a CPU, 25,000 on a GPU. Two users write:

    "My coordinates are relative to the middle of the picture. A cat is gone, because of a dog."
    "10,000 classes. Two equal boxes give one survivor in class 3, and two in class 9,999."

1. `negative` and `large`: the smallest case of each ticket.
2. `batched_nms`: correct for both, with one call of `nms`. About 6 lines in all.

Begin with the first ticket: where does `shifted` put a box of class 1, if the largest coordinate
is 10?
Afterwards see ``unique`` in ``torch/functional.py``, in site-packages. Real life differs: with more
boxes torchvision loops over classes.
"""

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
    # TODO: four numbers
    raise NotImplementedError("negative")


def large() -> int:
    """Return the smallest label for which `shifted` is wrong on TWINS, if all boxes have it."""
    # TODO: on paper, or with a loop over labels
    raise NotImplementedError("large")


def batched_nms(
    boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor, threshold: float
) -> torch.Tensor:
    """Return the survivors of each class's own NMS, best score first, int64.

    Boxes are float32 or float64, and may have negative coordinates. Labels are any int64, even -1
    and 2**50. Classes stay apart even with a threshold of 0, so leave a gap between them. There may
    be no boxes.
    """
    # TODO: how far apart, in which dtype, and with which class numbers?
    raise NotImplementedError("batched_nms")
