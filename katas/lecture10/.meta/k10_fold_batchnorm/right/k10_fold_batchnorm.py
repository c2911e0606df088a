"""Fold a batch norm into the convolution before it, group by group."""

from __future__ import annotations

import copy

import torch
from torch import nn


TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def fold(convolution: nn.Module, norm: nn.Module) -> nn.Module:
    """Return one convolution that computes both."""
    state = {name: value.detach() for name, value in norm.state_dict().items()}
    factor = state.get("weight", 1) / torch.sqrt(state["running_var"] + norm.eps)
    bias = 0 if convolution.bias is None else convolution.bias.detach()
    bias = (bias - state["running_mean"]) * factor + state.get("bias", 0)
    # The weight as (groups, out of a group, in of a group, ...), whichever kind it is.
    weight, groups = convolution.weight.detach(), convolution.groups
    parts = weight.reshape(groups, -1, *weight.shape[1:])
    each = factor.reshape(groups, -1, 1)
    if isinstance(convolution, TRANSPOSED):
        each = each.mT
    scaled = (parts.flatten(3) * each.unsqueeze(-1)).reshape(weight.shape)
    result = copy.deepcopy(convolution)
    result.weight = nn.Parameter(scaled.to(weight.dtype))
    result.bias = nn.Parameter(bias.to(weight.dtype))
    return result
