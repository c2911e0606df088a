"""Given to the kata on integer layers: the conversions, the observer, and the pass that inserts it.

They are the answers to k14 and k15: read them after those.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import fx
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterator


LEAST_SCALE = torch.finfo(torch.float32).eps
INPUT_RANGE = (-128, 127)
WEIGHT_RANGE = (-127, 127)
LAYERS = (nn.Linear, nn.Conv2d)


def affine(low: float, high: float) -> tuple[float, int]:
    """Return the scale and zero point that map values from low to high onto [-128, 127]."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = max((high - low) / 255, LEAST_SCALE)
    return scale, -128 - round(low / scale)


def symmetric(weight: torch.Tensor) -> torch.Tensor:
    """Return a scale for each output channel, for [-127, 127] and zero point 0."""
    others = tuple(range(1, weight.dim()))
    greatest = weight.detach().abs().amax(others, keepdim=True)
    return (greatest / 127).clamp(min=LEAST_SCALE)


def quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return the nearest integers, as int8."""
    return (torch.round(x / scale) + zero_point).clamp(low, high).to(torch.int8)


class Observer(nn.Module):
    """Passes values on, and remembers the smallest and the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        self.low = torch.minimum(self.low, x.detach().min())
        self.high = torch.maximum(self.high, x.detach().max())
        return x


class Quantize(nn.Module):
    """Turns floats into int8, by a scale that was found before."""

    def __init__(self, scale: float, zero_point: int) -> None:
        super().__init__()
        self.scale, self.zero_point = scale, zero_point

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return int8."""
        return quantize(x, self.scale, self.zero_point, *INPUT_RANGE)


def called(module: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    """Return the module that a node calls, if it calls one."""
    return module.get_submodule(node.target) if node.op == "call_module" else None


def layers(module: fx.GraphModule) -> Iterator[fx.Node]:
    """Return the nodes that call exactly a Linear or a Conv2d."""
    return (node for node in module.graph.nodes if type(called(module, node)) in LAYERS)


def prepare(module: fx.GraphModule) -> fx.GraphModule:
    """Return the module with observers: one for each value that a layer reads."""
    result = fx.GraphModule(module, copy.deepcopy(module.graph))
    observed: dict[fx.Node, fx.Node] = {}
    for node in layers(result):
        (value,) = node.all_input_nodes
        if value not in observed:
            name = f"observer_{len(observed)}"
            result.add_submodule(name, Observer())
            with result.graph.inserting_before(node):
                observed[value] = result.graph.call_module(name, (value,))
        node.replace_input_with(value, observed[value])
    result.recompile()
    return result
