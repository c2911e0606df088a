"""Mean average precision: one number for a detector."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

# As in pycocotools: 0.01 times k, which is not the same float64 as k / 100 for every k.
RECALLS = torch.arange(101, dtype=torch.float64) * 0.01


def match(scores: torch.Tensor, ious: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """Return which detections hit: bool of [thresholds, detections], in the order given.

    `ious` is [detections, objects]. The detection with the highest score comes first; among equal
    scores, the one given first. It takes the object with the highest IoU among those that are free
    and whose IoU is at least the threshold; each threshold has its own free objects. If IoUs are
    equal it may take either; pycocotools takes the last.
    """
    hits = torch.zeros(len(thresholds), len(scores), dtype=torch.bool)
    free = torch.ones(len(thresholds), ious.shape[1], dtype=torch.bool)
    if ious.numel() == 0:
        return hits
    for d in scores.argsort(descending=True, stable=True).tolist():
        allowed = free & (ious[d] >= thresholds[:, None])
        taken = torch.where(allowed, ious[d], -1.0).argmax(1)
        hits[:, d] = allowed.any(1)
        free[hits[:, d], taken[hits[:, d]]] = False
    return hits


def average_precision(scores: torch.Tensor, hits: torch.Tensor, objects: int) -> torch.Tensor:
    """Return the average precision at each threshold: float64 of [thresholds].

    `hits` is bool [thresholds, detections], and `objects` the positive number of objects to find.
    Without detections the result is 0. Use no loop: ten thresholds take as many operators as one.
    """
    order = scores.argsort(descending=True, stable=True)
    found = hits[:, order].cumsum(1).double()
    precision = found / torch.arange(1, len(scores) + 1)
    best = precision.flip(1).cummax(1).values.flip(1)
    wanted = RECALLS.expand(len(hits), -1).contiguous()
    places = torch.searchsorted(found / objects, wanted)
    return torch.nn.functional.pad(best, (0, 1)).gather(1, places).mean(1)


class Image(NamedTuple):
    """What was detected in an image, and what is really there (given). Boxes are x1, y1, x2, y2."""

    scores: torch.Tensor
    labels: torch.Tensor
    boxes: torch.Tensor
    true_labels: torch.Tensor
    true_boxes: torch.Tensor


def box_iou(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each box of a with each of b (given)."""
    low = torch.maximum(a[:, None, :2], b[:, :2])
    high = torch.minimum(a[:, None, 2:], b[:, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    areas = [(x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b)]
    return both / (areas[0][:, None] + areas[1] - both)


def mean_average_precision(
    images: Sequence[Image], classes: int, thresholds: torch.Tensor
) -> torch.Tensor:
    """Return the mean over thresholds, and classes that have an object (given)."""
    results = []
    for name in range(classes):
        scores, hits, objects = [], [], 0
        for image in images:
            mine, truth = image.labels == name, image.true_boxes[image.true_labels == name]
            scores.append(image.scores[mine])
            hits.append(match(scores[-1], box_iou(image.boxes[mine], truth), thresholds))
            objects += len(truth)
        if objects:
            results.append(average_precision(torch.cat(scores), torch.cat(hits, 1), objects))
    return torch.stack(results).mean()
