"""Fine-tune a layer with two small matrices."""

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
        return weight + self.scale * self.B @ self.A


def lora_of(layer: nn.Linear) -> LoRA:
    """Return the LoRA of an adapted layer: given."""
    (lora,) = layer.parametrizations.weight
    return lora


def adapt(layer: nn.Linear, rank: int, scale: float) -> LoRA:
    """Freeze a layer's weight and bias, and put a LoRA on its weight; return the LoRA.

    `LoRA.was` records, for each of the layer's parameters by name, whether it required gradients.
    """
    lora = LoRA(layer, rank, scale)
    lora.was = {name: each.requires_grad for name, each in layer.named_parameters()}
    layer.requires_grad_(requires_grad=False)
    register_parametrization(layer, "weight", lora)
    return lora


def apart(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """Return what an adapted layer returns for x, [..., in], without computing its weight."""
    lora = lora_of(layer)
    y = linear(x, layer.parametrizations.weight.original, layer.bias)
    return y + lora.scale * linear(linear(x, lora.A), lora.B)


def remove(layer: nn.Linear, *, merge: bool) -> None:
    """Turn an adapted layer back into a plain one.

    The same parameters require gradients as before. With `merge`, keep the adapted weight,
    otherwise the original one, bit for bit.
    """
    was = lora_of(layer).was
    remove_parametrizations(layer, "weight", leave_parametrized=merge)
    for name, each in layer.named_parameters():
        each.requires_grad_(was[name])
