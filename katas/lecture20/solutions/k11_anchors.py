"""Anchors, and the four numbers that move one onto a box.

A detector does not guess boxes from nothing. At every position of a feature map it corrects a few
given boxes, the anchors, with four numbers:

    codes = 10 * dx / w,  10 * dy / h,  5 * log(w' / w),  5 * log(h' / h)

    dx, dy    from the anchor's center to the box's center
    w, h      the anchor's width and height; w', h' are the box's

Write three functions, about 16 lines:

1. `anchors`: round the corners of the centered boxes, then shift them to each position.
2. `encode`: from a box and its anchor to codes, the training targets.
3. `decode`: back again, for each class. An untrained network may predict any log size: after
   division by 5, clamp both logarithms to at most `CLIP`, before exp.

Begin on paper: what are the corners of a centered box of size 32, ratio 0.5? And after rounding?
Afterwards read ``meshgrid`` in ``torch/functional.py``, in site-packages: why must you pass
`indexing`? And ``BoxCoder`` in torchvision's ``models/detection/_utils.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


WEIGHTS = torch.tensor([10.0, 10.0, 5.0, 5.0])
CLIP = math.log(1000 / 16)


def center_and_size(boxes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Given: return (x, y) of the centers and (w, h) of boxes (x1, y1, x2, y2) in the last dim."""
    first, last = boxes[..., :2], boxes[..., 2:]
    return (first + last) / 2, last - first


def anchors(
    image: tuple[int, int],
    grid: tuple[int, int],
    sizes: Sequence[float],
    ratios: Sequence[float],
) -> torch.Tensor:
    """Return the anchors of all positions, [rows * columns * ratios * sizes, 4], in float32.

    `image` and `grid` are (height, width). A ratio is height / width, and a box of size s has area
    s * s. Positions are image // grid pixels apart, and the first is pixel (0, 0). They follow each
    other row by row; at one position, the sizes of the first ratio come first.
    """
    roots = torch.tensor(ratios).sqrt()[:, None]
    width, height = ((root * torch.tensor(sizes)).flatten() for root in (1 / roots, roots))
    cells = (torch.stack([-width, -height, width, height], 1) / 2).round()
    shifts = [torch.arange(g) * (length // g) for length, g in zip(image, grid, strict=True)]
    y, x = torch.meshgrid(*shifts, indexing="ij")
    return (torch.stack([x, y, x, y], -1)[:, :, None] + cells).flatten(0, 2)


def encode(boxes: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """Return the codes, [n, 4], that move each anchor onto the box in the same row."""
    center, size = center_and_size(anchors)
    other, other_size = center_and_size(boxes)
    codes = torch.cat([(other - center) / size, (other_size / size).log()], -1)
    return codes * WEIGHTS


def decode(codes: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """Return boxes, [n, classes, 4], from codes [n, classes * 4]: four numbers for each class.

    There may be no anchors, n = 0.
    """
    center, size = center_and_size(anchors[:, None])
    codes = codes.unflatten(1, (-1, 4)) / WEIGHTS
    center = center + codes[..., :2] * size
    half = codes[..., 2:].clamp(max=CLIP).exp() * size / 2
    return torch.cat([center - half, center + half], -1)
