"""Grad-CAM: see which part of the image decided the class.

The maps of a late convolution still know where something is, and the logit's gradient says which
of them matter. Grad-CAM joins the two, for a class c and maps A[k]:

    weight[k] = mean over positions of   d logit[c] / d A[k]
    cam       = sum over k of            weight[k] * A[k]          one number for each position

1. `grad_cam`: with a forward hook on the layer, and one gradient.
2. `heat`: positive values only, enlarged to the image, each image's maximum 1.

About 16 lines in all. The model may be frozen, with no parameter that requires a gradient; and an
in-place ReLU may come after the layer.

Begin on paper: a model ends in a mean over positions and a linear layer. What is the sum of the
cam? Afterwards read the docstring of ``register_forward_hook`` in ``torch/nn/modules/module.py``,
in site-packages. Real life differs: Captum's LayerGradCam also keeps the sign, unless asked not to;
papers show `heat`, which hides evidence against the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch import nn


def grad_cam(
    model: nn.Module, layer: nn.Module, x: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Return the signed cam [rows, height, width] of each row's class, without a graph.

    `layer` runs once in ``model(x)`` and returns [rows, maps, height, width]. Leave no hook
    behind and fill no ``.grad``; the caller may be under ``torch.no_grad()``.
    """
    # TODO: a hook may keep the layer's output, and return a different tensor instead.
    raise NotImplementedError("grad_cam")


def heat(cam: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return the cams enlarged to `size`, bilinear, between 0 and 1 in each image.

    Set negative positions to 0 before you enlarge. A map without a positive position stays 0.
    """
    # TODO: torch.nn.functional.interpolate, of [rows, 1, height, width].
    raise NotImplementedError("heat")
