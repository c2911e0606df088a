"""Quantisation of a graph: observe, pretend, convert."""

from __future__ import annotations

import copy
from functools import partial
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F


if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_SCALE = torch.finfo(torch.float32).eps
INPUT_RANGE = (-128, 127)
WEIGHT_RANGE = (-127, 127)
_LAYERS = (nn.Linear, nn.Conv2d)


def affine(low: float, high: float) -> tuple[float, int]:
    """Return scale and zero point of values between low and high, for [-128, 127]."""
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


class _FakeQuantize(torch.autograd.Function):
    """Rounds in forward, and forgets about it in backward."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any, zero_point: int, ends: tuple[int, int]) -> Any:
        """Quantise and go back; remember what was in range."""
        low, high = ends
        steps = torch.round(x / scale) + zero_point
        ctx.save_for_backward((low <= steps) & (steps <= high))
        # A scale that is a tensor of another dtype would promote.
        return ((steps.clamp(low, high) - zero_point) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Hand on the gradient of what was in range."""
        (inside,) = ctx.saved_tensors
        return gradient * inside, None, None, None


def fake_quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return what is left of x after quantisation, with a gradient that goes straight through."""
    return _FakeQuantize.apply(x, scale, zero_point, (low, high))


class Observer(nn.Module):
    """Sees values pass, and remembers the least and the greatest."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        self.low = torch.minimum(self.low, x.detach().min())
        self.high = torch.maximum(self.high, x.detach().max())
        return x


def _called(module: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    return module.get_submodule(node.target) if node.op == "call_module" else None


def prepare(module: fx.GraphModule) -> fx.GraphModule:
    """Return the module with observers."""
    result = fx.GraphModule(module, copy.deepcopy(module.graph))
    observed: dict[fx.Node, fx.Node] = {}
    for node in result.graph.nodes:
        if type(_called(result, node)) not in _LAYERS:
            continue
        (value,) = node.all_input_nodes
        if value not in observed:
            name = f"observer_{len(observed)}"
            result.add_submodule(name, Observer())
            with result.graph.inserting_before(node):
                observed[value] = result.graph.call_module(name, (value,))
        node.replace_input_with(value, observed[value])
    result.recompile()
    return result


class _Rounded(nn.Module):
    """Quantises an input, truly or not."""

    def __init__(
        self, function: Callable[..., torch.Tensor], scale: float, zero_point: int
    ) -> None:
        super().__init__()
        self.function, self.scale, self.zero_point = function, scale, zero_point

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, self.scale, self.zero_point, *INPUT_RANGE)


class _SimulatedLayer(nn.Module):
    """Calls a layer with another weight."""

    def __init__(self, layer: nn.Module, scale: float, zero_point: int) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.layer.weight
        rounded = fake_quantize(weight, symmetric(weight), 0, *WEIGHT_RANGE)
        return functional_call(self.layer, {"weight": rounded}, (x,))


class _IntegerLayer(nn.Module):
    """Adds up products of integers; scales and bias come last."""

    def __init__(self, layer: nn.Module, scale: float, zero_point: int) -> None:
        super().__init__()
        scales, self.zero_point = symmetric(layer.weight), zero_point
        ends = (-1,)  # how one number for each channel is laid along the result
        self.operator = F.linear
        if isinstance(layer, nn.Conv2d):
            ends = (-1, 1, 1)
            self.operator = partial(
                F.conv2d,
                stride=layer.stride,
                padding=layer.padding,
                groups=layer.groups,
            )
        weight = quantize(layer.weight.detach(), scales, 0, *WEIGHT_RANGE)
        self.register_buffer("weight", weight)
        self.register_buffer("scales", (scale * scales).view(ends))
        bias = torch.zeros(()) if layer.bias is None else layer.bias.detach().view(ends)
        self.register_buffer("bias", bias)

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        # The difference of two int8 may need nine bits, and the sum many more.
        x = q.to(torch.int32) - self.zero_point
        return self.operator(x, self.weight.to(torch.int32)) * self.scales + self.bias


def _swapped(
    prepared: fx.GraphModule,
    function: Callable[..., torch.Tensor],
    kind: Callable[[nn.Module, float, int], nn.Module],
) -> fx.GraphModule:
    """Put other modules in the place of observers and layers."""
    result = fx.GraphModule(prepared, copy.deepcopy(prepared.graph))
    inputs: dict[fx.Node, tuple[float, int]] = {}
    names = (f"layer_{number}" for number in count())
    for node in result.graph.nodes:
        called = _called(prepared, node)
        if type(called) is Observer:
            inputs[node] = affine(called.low.item(), called.high.item())
            made = _Rounded(function, *inputs[node])
            node.target = node.target.replace("observer", "quantize")
        elif type(called) in _LAYERS:
            (observed,) = node.all_input_nodes
            made = kind(called, *inputs[observed])
            node.target = next(names)
        else:
            continue
        result.add_submodule(node.target, made)
    result.delete_all_unused_submodules()
    result.recompile()
    return result


def simulate(prepared: fx.GraphModule) -> fx.GraphModule:
    """Return a float module that rounds as the integers will."""
    return _swapped(prepared, fake_quantize, _SimulatedLayer)


def convert(prepared: fx.GraphModule) -> fx.GraphModule:
    """Return a module whose layers hold int8 weights and add up int32 products."""
    return _swapped(prepared, quantize, _IntegerLayer)
