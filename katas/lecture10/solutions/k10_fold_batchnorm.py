"""Fold a batch norm into the convolution before it."""

from __future__ import annotations

import copy

import torch
from torch import nn


TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def fold(convolution: nn.Module, norm: nn.Module) -> nn.Module:
    """Return one convolution that computes both."""
    folded = copy.deepcopy(convolution)
    weight, groups = convolution.weight, convolution.groups
    with torch.no_grad():
        scale = (norm.running_var + norm.eps).rsqrt()
        if norm.weight is not None:
            scale = scale * norm.weight
        shift = -norm.running_mean * scale
        if norm.bias is not None:
            shift = shift + norm.bias
        if convolution.bias is not None:
            shift = shift + convolution.bias * scale
        if isinstance(convolution, TRANSPOSED):
            # (in, out / groups, ...): each group's rows feed only that group's outputs.
            rows = scale.view(groups, -1).repeat_interleave(weight.shape[0] // groups, dim=0)
            scaled = weight * rows.view(*weight.shape[:2], *(1 for _ in weight.shape[2:]))
        else:
            scaled = weight * scale.view(-1, *(1 for _ in weight.shape[1:]))
    folded.weight = nn.Parameter(scaled.to(weight.dtype))
    folded.bias = nn.Parameter(shift.to(weight.dtype))
    return folded
