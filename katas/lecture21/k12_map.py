"""Mean average precision: one number for a detector.

A detection hits if it overlaps with an object that no better detection has taken. Sorted by score,
hits give precision and recall, here with 4 objects to find:

    score                 .9   .8   .7   .6
    hit                    1    0    1    0
    recall               1/4  1/4  2/4  2/4
    precision              1  1/2  2/3  2/4
    the best from here     1  2/3  2/3  2/4

The average precision is a mean over 101 recalls, 0, 0.01, ..., 1. For each, find the first column
whose recall is at least as large, and take its last row, or 0 if there is no such column.

1. `match`: which detections of an image hit, at each threshold.
2. `average_precision`: the table, at all thresholds at once, with `cumsum`, `cummax` and
   `searchsorted`. Equal scores keep their order.

About 17 lines.

Begin on paper: what is the average precision of the table above?
Afterwards read ``searchsorted`` in ``torch/_torch_docs.py``, in site-packages. Real life differs:
pycocotools also knows crowds, areas and a maximum number of detections.
"""

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
    # TODO: only detections depend on each other.
    raise NotImplementedError("match")


def average_precision(scores: torch.Tensor, hits: torch.Tensor, objects: int) -> torch.Tensor:
    """Return the average precision at each threshold: float64 of [thresholds].

    `hits` is bool [thresholds, detections], and `objects` the positive number of objects to find.
    Without detections the result is 0. Use no loop: ten thresholds take as many operators as one.
    """
    # TODO: the table of the brief, then the recalls.
    raise NotImplementedError("average_precision")


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
