"""DeepLIFT: multipliers instead of slopes.

Through a saturated unit the gradient is 0, and k02 needs 50 points to notice. DeepLIFT needs two, x
and the baseline, and one backward. Where the chain rule has a slope, it has a quotient of
differences:

                  slope at x     multiplier
    Linear        W              W                            the same: it is linear
    ReLU          0 or 1         (y - y0) / (x - x0)          the rescale rule, unit by unit

So the multipliers of a saturated ReLU are not 0, and the attributions sum to f(x) - f(baseline),
except for rounding.

Write `deeplift` for a chain of layers, about 15 lines:

1. Forward, twice: keep each layer's input.
2. Backward: start with 1 for the class. Use ``torch.func.vjp`` for a linear layer, the rescale
   rule for a layer in UNITS; where |x - x0| is below 1e-9, use the slope at x.

Begin on paper: ``1 - relu(1 - x)`` at 2 with baseline 0. What are its three multipliers?
Afterwards read ``vjp`` in ``torch/_functorch/eager_transforms.py``, in site-packages. Real life
differs: Captum does it with hooks on modules, so ``F.relu`` in a forward silently falls back to
the plain gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


# Work unit by unit. All other layers of a chain are linear: Linear, Conv2d, AvgPool2d, Flatten.
UNITS = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Softplus)


def deeplift(
    layers: Sequence[nn.Module], x: torch.Tensor, baseline: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Return the attributions, of the shape of x, without a graph.

    The layers run one after the other, and the last returns [rows, classes]. `x` and `baseline`
    have the same shape. A ReLU may work in place, and a layer may occur twice.
    """
    # TODO
    raise NotImplementedError("deeplift")
