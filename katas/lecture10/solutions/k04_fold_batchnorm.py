"""Batch norm folding: two modules become one, and the graph says which two."""

from __future__ import annotations

import copy
from itertools import count

import torch
from torch import fx
from torch import nn


_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, *_TRANSPOSED)


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
        if isinstance(convolution, _TRANSPOSED):
            # (in, out / groups, ...): each group's rows of inputs meet that group's outputs.
            rows = scale.view(groups, -1).repeat_interleave(weight.shape[0] // groups, dim=0)
            scaled = weight * rows.view(*weight.shape[:2], *(1 for _ in weight.shape[2:]))
        else:
            scaled = weight * scale.view(-1, *(1 for _ in weight.shape[1:]))
    folded.weight = nn.Parameter(scaled.to(weight.dtype))
    folded.bias = nn.Parameter(shift.to(weight.dtype))
    return folded


def fold_batch_norms(module: fx.GraphModule) -> fx.GraphModule:
    """Return a module without the batch norms that can be folded."""
    module = copy.deepcopy(module)
    for node in module.graph.nodes:
        norm = _called(module, node)
        if type(norm) not in _NORMS or norm.training or norm.running_mean is None:
            continue
        (before,) = node.all_input_nodes
        convolution = _called(module, before)
        # A second user would be given what the batch norm makes.
        if type(convolution) not in _CONVOLUTIONS or len(before.users) > 1:
            continue
        names = (f"folded_{number}" for number in count())
        name = next(name for name in names if not hasattr(module, name))
        module.add_submodule(name, fold(convolution, norm))
        # The node alone changes its module: others may call the old one.
        before.target = name
        node.replace_all_uses_with(before)
        module.graph.erase_node(node)
    module.delete_all_unused_submodules()
    module.recompile()
    return module


def _called(module: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    return module.get_submodule(node.target) if node.op == "call_module" else None
