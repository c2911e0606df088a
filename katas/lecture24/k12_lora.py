"""Fine-tune a layer with two small matrices.

A weight of 4,096 x 4,096 has 16 million elements, and Adam keeps two more numbers for each. LoRA
freezes it, and learns an update, as a product of rank r:

    y = x @ (W + scale * B @ A).T        A is [r, in], B is [out, r]

A is random and B is 0, so nothing changes at first. As it is a parametrization, the layer's own
forward does not change.

1. `LoRA.forward` and `adapt`: only A and B are trained. Remember what required gradients before.
2. `apart`: the same result, without ever creating a matrix as large as W.
3. `remove`: merge the update into the weight, or drop it. About 15 lines in all.

Begin on paper: B is 0. What is the gradient of A in the first step, and what is B's?
Afterwards read ``remove_parametrizations`` in ``torch/nn/utils/parametrize.py``.
Real life differs: adapters are kept in separate files, and a merge in bfloat16 rounds them.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import linear
from torch.nn.utils.parametrize import register_parametrization
from torch.nn.utils.parametrize import remove_parametrizations


class LoRA(nn.Module):
    """An update added to a weight: two small matrices. The constructor is given."""

    def __init__(self, layer: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        like = layer.weight.detach()
        self.scale = scale
        self.A = nn.Parameter(torch.randn(rank, layer.in_features).to(like) / rank)
        self.B = nn.Parameter(torch.zeros(layer.out_features, rank).to(like))
        self.was: dict[str, bool] = {}

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the adapted weight."""
        # TODO: one line.
        raise NotImplementedError("LoRA.forward")


def lora_of(layer: nn.Linear) -> LoRA:
    """Return the LoRA of an adapted layer: given."""
    (lora,) = layer.parametrizations.weight
    return lora


def adapt(layer: nn.Linear, rank: int, scale: float) -> LoRA:
    """Freeze a layer's weight and bias, and put a LoRA on its weight; return the LoRA.

    `LoRA.was` records, for each of the layer's parameters by name, whether it required gradients.
    """
    # TODO: mind the order.
    raise NotImplementedError("adapt")


def apart(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """Return what an adapted layer returns for x, [..., in], without computing its weight."""
    # TODO: two small products.
    raise NotImplementedError("apart")


def remove(layer: nn.Linear, *, merge: bool) -> None:
    """Turn an adapted layer back into a plain one.

    The same parameters require gradients as before. With `merge`, keep the adapted weight,
    otherwise the original one, bit for bit.
    """
    # TODO: remove the parametrization, and look at requires_grad.
    raise NotImplementedError("remove")
