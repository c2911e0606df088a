"""Count a quarter of a million pixels.

Two ways to compare masks of 512 x 512, and two dtypes too small for them:

    torch.ones(512, 512, dtype=torch.float16).sum()         inf: the largest float16 is 65504
    21 * torch.tensor([20], dtype=torch.uint8) + 3          167: bytes count modulo 256

The Dice loss sums probabilities; mean intersection over union (IoU) counts pairs of classes with
one `bincount`. Write `dice`, `confusion` and `mean_iou`. About 8 lines.

Begin with ``p.sum().float()``, and with ``p.float().sum()``. Where does the inf appear?
Afterwards read ``bincount`` in ``torch/_torch_docs.py``, in site-packages.
"""

from __future__ import annotations

import torch


def dice(p: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return 1 - (2 * sum(p * target) + 1) / (sum(p) + sum(target) + 1) for each image.

    `p` is [images, height, width], `target` is bool. The result is float32, or float64 if p is.
    """
    # TODO: sum takes a dtype.
    raise NotImplementedError("dice")


def confusion(predicted: torch.Tensor, target: torch.Tensor, classes: int) -> torch.Tensor:
    """Count pixels of class t that were predicted as p, in row t and column p: int64.

    Inputs are uint8 or int64. A target of 255 does not count. Predictions are below `classes`.
    """
    # TODO: one number for each pair of classes, and one call of torch.bincount.
    raise NotImplementedError("confusion")


def mean_iou(table: torch.Tensor) -> torch.Tensor:
    """Return the mean of intersection / union over classes, as float64.

    A class without a pixel in the table is left out.
    """
    # TODO: the intersection is on the diagonal; the union is a row and a column.
    raise NotImplementedError("mean_iou")
