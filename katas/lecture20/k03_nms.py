"""Greedy NMS that remembers who dropped whom.

A library's ``nms`` returns only the survivors. If an object is missing, you want to know
which box took its place. So let each box have an owner:

    box      0    1    2    3    4         1 overlaps 0 and 2
    score   .6   .9   .8   .9   .5         2 overlaps 3, and 3 overlaps 4
    owner    1    1    1    3    3         the survivors, best first: 1, 3

1. `owners`: visit boxes from the best score to the worst. A box without an owner survives. It owns
   itself, and each box without an owner whose IoU with it is above the threshold.
2. `nms`: the survivors.

About 10 lines in all. Call `iou` once for each survivor, with that one box: the matrix of 30,000
boxes takes 7 GB.

Begin on paper: what is the IoU of a box without an area with itself?
Afterwards read about ``stable`` under ``sort`` in ``torch/_torch_docs.py``, in site-packages. Real
life differs: a GPU compares all pairs at once, with a bit for each.
"""

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
    # TODO: -1 for a box that has no owner yet
    raise NotImplementedError("owners")


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the indices of the survivors, int64, in the order in which `owners` visits them."""
    # TODO: who owns itself?
    raise NotImplementedError("nms")
