"""IoU of all pairs of boxes, in a dtype that can hold an area.

Coordinates fit into a dtype; their differences and products may not. Nothing raises:

    float16    400 x 400          inf
    int32      60,000 x 60,000    -694,967,296
    uint8      3 - 5              254

Write `iou` with broadcasting, in about six lines: no loop over boxes.

Begin with two boxes that do not overlap, ``0 0 1 1`` and ``2 2 3 3``: what is width times height of
their overlap? Afterwards see ``prod`` in ``torch/_torch_docs.py``, in site-packages.
"""

from __future__ import annotations

import torch


def iou(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each pair, float64 [n, m].

    Boxes are rows x0, y0, x1, y1 of any dtype, [n, 4] and [m, 4], with x0 <= x1 and y0 <= y1. Two
    boxes without an area have an IoU of 0; nobody asks for their gradient. Other float boxes may
    require gradients.
    """
    # TODO: the larger of the left sides, the smaller of the right sides
    raise NotImplementedError("iou")
