"""Multiply integers, and use floats only at the end."""

from __future__ import annotations

import copy
from functools import partial

import torch
from torch import fx
from torch import nn
from torch.nn import functional as F

from katas.lecture10.int8 import WEIGHT_RANGE
from katas.lecture10.int8 import Observer
from katas.lecture10.int8 import Quantize
from katas.lecture10.int8 import affine
from katas.lecture10.int8 import called
from katas.lecture10.int8 import layers
from katas.lecture10.int8 import quantize
from katas.lecture10.int8 import symmetric


class IntegerLayer(nn.Module):
    """Adds up products of integers; scales and bias come last."""

    def __init__(self, layer: nn.Module, scale: float, zero_point: int) -> None:
        super().__init__()
        scales, self.zero_point = symmetric(layer.weight), zero_point
        ends, self.operator = (-1,), F.linear  # ends: one number for each channel of the result
        if isinstance(layer, nn.Conv2d):
            ends, given = (-1, 1, 1), ("stride", "padding", "groups")
            self.operator = partial(F.conv2d, **{name: getattr(layer, name) for name in given})
        weight = quantize(layer.weight.detach(), scales, 0, *WEIGHT_RANGE)
        self.register_buffer("weight", weight)
        self.register_buffer("scales", (scale * scales).view(ends))
        bias = torch.zeros(()) if layer.bias is None else layer.bias.detach().view(ends)
        self.register_buffer("bias", bias)

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        """Return floats for int8."""
        # The difference of two int8 may need nine bits, and the sum many more.
        x = q.to(torch.int32) - self.zero_point
        return self.operator(x, self.weight.to(torch.int32)) * self.scales + self.bias


def convert(prepared: fx.GraphModule) -> fx.GraphModule:
    """Return an integer version of a module from `prepare` that has seen batches. Given."""
    result = fx.GraphModule(prepared, copy.deepcopy(prepared.graph))
    found = list(layers(result))
    inputs: dict[fx.Node, tuple[float, int]] = {}
    for node in result.graph.nodes:
        module = called(prepared, node)
        if isinstance(module, Observer):
            inputs[node] = affine(module.low.item(), module.high.item())
            node.target = node.target.replace("observer", "quantize")
            result.add_submodule(node.target, Quantize(*inputs[node]))
        elif node in found:
            node.target = f"layer_{found.index(node)}"
            result.add_submodule(node.target, IntegerLayer(module, *inputs[node.args[0]]))
    result.delete_all_unused_submodules()
    result.recompile()
    return result
