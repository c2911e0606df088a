"""DeepLIFT: multipliers instead of slopes."""

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
    pairs = [(x, baseline)]
    with torch.no_grad():
        for layer in layers:
            pairs.append((layer(pairs[-1][0].clone()), layer(pairs[-1][1].clone())))
        end, _ = pairs[-1]
        rise = torch.zeros_like(end)
        rise[torch.arange(len(x)), target] = 1.0
        for k in reversed(range(len(layers))):
            (now, then), (after, before) = pairs[k], pairs[k + 1]
            pull = torch.func.vjp(lambda z, layer=layers[k]: layer(z.clone()), now)[1]
            (back,) = pull(rise)
            if isinstance(layers[k], UNITS):
                way = now - then
                back = torch.where(way.abs() < 1e-9, back, rise * (after - before) / way)
            rise = back
        return rise * (x - baseline)
