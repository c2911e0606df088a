"""Multiply integers, and use floats only at the end.

Observers have seen the ranges. Now every layer holds its weight as int8, receives int8, adds up
products in int32, and multiplies the sum by both scales at once:

    observer_0 = self.observer_0(x)          quantize_0 = self.quantize_0(x)         int8
    fc = self.fc(observer_0)                 layer_0 = self.layer_0(quantize_0)      float

    sum((q - zero_point) * w) * (scale of q * scale of the channel) + bias

Write `IntegerLayer`, about 20 lines. The pass `convert` is given; ``int8.py`` next to this file
has the conversions and the observers.

- Subtract the zero point before the padding: padding is the number 0, not the integer 0.
- No float copy of the weight may stay alive.

Begin on paper: why can the difference of two int8 numbers not stay int8?
Afterwards read ``aten/src/ATen/native/quantized/cpu/qlinear.cpp``.
"""

from __future__ import annotations

import copy

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
    """A Linear or Conv2d with int8 weights."""

    def __init__(self, layer: nn.Module, scale: float, zero_point: int) -> None:
        """Keep what forward needs from `layer`, whose input has this scale and zero point.

        Convert the weight to int8 with `symmetric` and `quantize`; dilation is always 1.
        """
        super().__init__()
        # TODO: keep an int8 weight, one scale for each channel, the bias, and how to multiply.
        raise NotImplementedError("IntegerLayer")

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        """Return floats, in the dtype of the given weight, for int8 `q`.

        Call ``F.linear`` or ``F.conv2d`` on int32 tensors, without a bias.
        """
        # TODO: subtract, multiply and add up in int32, then scale.
        raise NotImplementedError("IntegerLayer.forward")


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
