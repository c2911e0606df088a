"""Count a quarter of a million pixels."""

from __future__ import annotations

import torch


def dice(p: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return 1 - (2 * sum(p * target) + 1) / (sum(p) + sum(target) + 1) for each image.

    `p` is [images, height, width], `target` is bool. The result is float32, or float64 if p is.
    """
    wide, dims = torch.promote_types(p.dtype, torch.float32), (1, 2)
    both = (p * target).sum(dims, dtype=wide)
    return 1 - (2 * both + 1) / (p.sum(dims, dtype=wide) + target.sum(dims) + 1)


def confusion(predicted: torch.Tensor, target: torch.Tensor, classes: int) -> torch.Tensor:
    """Count pixels of class t that were predicted as p, in row t and column p: int64.

    Inputs are uint8 or int64. A target of 255 does not count. Predictions are below `classes`.
    """
    seen = target != 255
    cells = classes * target[seen].long() + predicted[seen]
    return torch.bincount(cells, minlength=classes * classes).view(classes, classes)


def mean_iou(table: torch.Tensor) -> torch.Tensor:
    """Return the mean of intersection / union over classes, as float64.

    A class without a pixel in the table is left out.
    """
    both = table.diag().double()
    return (both / (table.sum(0) + table.sum(1) - both)).nanmean()
