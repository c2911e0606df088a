"""Debug: five functions of a segmentation run, and their tickets.

Images come with a label for each pixel; 255 means that nobody labelled it.

    pixel_loss   "One batch of pixels that nobody labelled, and the weights are NaN."
    in_parts     "The same images in two parts instead of one: a different loss."
    edge_loss    "One very wrong pixel, and the loss is inf. At -200 it should be 200."
    focal_loss   "gamma = 2 trains. With gamma = 0.5 gradients are NaN when the model is sure."
    shrunk       "Our data has sky (0) and road (4). Along the horizon we predict people (2)."

Fix each in one to five lines, until it does what its docstring says, for large and small inputs.

Begin with ``F.cross_entropy(logits, labels, ignore_index=255)`` where all labels are 255. Which
two numbers does the mean divide?
Afterwards read ``cross_entropy`` in ``torch/nn/functional.py``, in site-packages. Real life
differs: `sigmoid_focal_loss` of torchvision 0.28 returns the NaN of `focal_loss` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional


if TYPE_CHECKING:
    from collections.abc import Sequence

IGNORED = 255


# TODO: find and fix one bug in each. Nothing raises NotImplementedError here: the code is
# written, and wrong.


def pixel_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy of the labelled pixels.

    Without a labelled pixel the loss is 0, and backward gives the logits a gradient of 0.
    """
    return functional.cross_entropy(logits, labels, ignore_index=IGNORED)


def in_parts(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]], weight: torch.Tensor
) -> torch.Tensor:
    """Return the weighted cross entropy of all parts, as if they were one batch.

    A part has logits and labels. Parts differ in the number and the size of their images; one may
    have no labelled pixel.
    """
    losses = [functional.cross_entropy(x, y, weight, ignore_index=IGNORED) for x, y in parts]
    return torch.stack(losses).mean()


def edge_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean binary cross entropy; a target is between 0 and 1."""
    p = logits.sigmoid()
    return -(target * p.log() + (1 - target) * (1 - p).log()).mean()


def focal_loss(logits: torch.Tensor, target: torch.Tensor, gamma: float) -> torch.Tensor:
    """Return the mean of -(1 - p) ** gamma * log(p), where p is the probability of the target.

    A target is 0 or 1, and p is sigmoid(logit) for 1. Logits are finite, gamma is not negative.
    """
    p = torch.where(target == 1, logits, -logits).sigmoid()
    cross = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return ((1 - p) ** gamma * cross).mean()


def shrunk(labels: torch.Tensor, factor: int) -> torch.Tensor:
    """Return labels [batch, height, width] at 1 / factor of the size, as int64.

    `factor` divides height and width. Each block of factor x factor pixels becomes the label of
    its first pixel.
    """
    image = labels[:, None].double()
    small = functional.interpolate(image, scale_factor=1 / factor, mode="bilinear")
    return small[:, 0].round().long()
