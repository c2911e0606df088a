"""Batch norm folding, by writing a new graph instead of mending a copy."""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import Any

import torch
from torch import fx
from torch import nn


_RANKS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
_KINDS = {nn.Conv1d, nn.Conv2d, nn.Conv3d}
_KINDS |= {nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d}


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
    if convolution.transposed:
        each = each.mT
    scaled = (parts.flatten(3) * each.unsqueeze(-1)).reshape(weight.shape)
    result = copy.deepcopy(convolution)
    result.weight = nn.Parameter(scaled.to(weight.dtype))
    result.bias = nn.Parameter(bias.to(weight.dtype))
    return result


def fold_batch_norms(module: fx.GraphModule) -> fx.GraphModule:
    """Return a module without the batch norms that can be folded."""
    called = {
        node: module.get_submodule(node.target)
        for node in module.graph.nodes
        if node.op == "call_module"
    }
    graph, root = fx.Graph(), {}
    values: dict[fx.Node, fx.Node] = {}
    alone: dict[fx.Node, bool] = {}  # is the last value that a new node stands for read once?
    numbers = (n for n in range(len(called) ** 2 + 99) if not hasattr(module, f"folded_{n}"))
    for node in module.graph.nodes:
        norm = called.get(node)
        if type(norm) in _RANKS.values() and not norm.training and norm.running_mean is not None:
            before = values[node.all_input_nodes[0]]
            target: Any = root.get(before.target) if before.op == "call_module" else None
            if type(target) in _KINDS and alone[before]:
                before.target = f"folded_{next(numbers)}"
                root[before.target] = fold(target, norm)
                values[node], alone[before] = before, len(node.users) == 1
                continue
        new = values[node] = graph.node_copy(node, values.__getitem__)
        alone[new] = len(node.users) == 1
        if node.op in {"call_module", "get_attr"}:
            root[new.target] = attrgetter(node.target)(module)
    used = {node.target for node in graph.nodes}
    return fx.GraphModule({name: it for name, it in root.items() if name in used}, graph)
