"""Quantisation of a graph: observe, pretend, convert.

An int8 weight takes a quarter of the memory of a float32 one, and integer products are fast. A
real number x is stored as an integer q in [low, high], with ``x ~ (q - zero_point) * scale``.
What scale? Run the float model on a few batches and see which values come by. Three passes over
a ``torch.fx`` graph do it: one inserts observers, one makes a float model that rounds as the
integers will (to train it further, or to see what is lost), one makes the integers.

Numbers. Inputs of layers are int8 in [-128, 127], with one scale and one zero point for the
whole tensor. Weights are int8 in [-127, 127], with a scale for each output channel (dim 0) and
zero point 0. No scale is less than ``LEAST_SCALE``. (The constants are given.)

- ``affine(low, high)`` takes the least and the greatest value that was seen, as Python floats,
  and returns ``(scale, zero_point)``, a float and an int. The range is first widened to hold 0,
  so that padding and ReLU are exact. Its ends fall on 255 steps: scale is the width over 255,
  and zero_point is ``-128 - round(low / scale)``, to the nearest.
- ``symmetric(weight)`` returns a weight's scales, its greatest absolute value in each
  channel over 127, with the dims of `weight` and size 1 in all but the first. Without a graph.
- ``quantize(x, scale, zero_point, low, high)`` returns int8:
  ``round(x / scale) + zero_point``, clamped to [low, high]. Halves go to the even neighbour,
  before the zero point is added. `scale` is a float or a tensor that broadcasts.
- ``fake_quantize(x, scale, zero_point, low, high)`` quantises and goes back,
  ``(q - zero_point) * scale``, in the dtype of x, not of scale. Its gradient would be 0
  nearly everywhere, so it lies: straight through where ``round(x / scale) + zero_point`` is in
  [low, high] before it is clamped, 0 elsewhere, and none for `scale`.
- ``Observer``: buffers ``low`` and ``high``, the least and the greatest value that it saw in all
  calls, 0 included (they begin as ``torch.zeros(())``). It returns its very input, and keeps no
  graph.

Passes, from GraphModule to GraphModule. The given one keeps its graph and its submodules; the
result may share modules and parameters with it. A layer is a call_module node whose module is
exactly ``nn.Linear`` or ``nn.Conv2d``; its input is its one argument, a node, given by position.
All other nodes stay as they are.

- ``prepare(module)``: every value that is the input of a layer gets one observer, which is
  called right before the first layer that reads it; all layers read the value through that.
  Others that use it read it as before. The observers are ``observer_0``, ``observer_1``, ... in
  the order of the graph. (Names that begin so, and those below, are free in what you are given.)
- ``simulate(prepared)``, after batches were run through `prepared`: each observer is replaced by
  a submodule that fake-quantises, ``quantize_0`` for ``observer_0``, ...; each call of a layer by
  a submodule, ``layer_0``, ``layer_1``, ... in the order of the graph, that does what the layer
  does with its weight fake-quantised, at each call, by the scales that the weight has then.
  Weight and bias are the layer's own, so that training the simulation trains `prepared`.
- ``convert(prepared)``: under the same names, ``quantize_0`` returns int8, and ``layer_0`` takes
  int8 and returns float. It holds its weight as int8 (and no float copy). It subtracts the zero
  point in int32, and calls ``F.linear`` or ``F.conv2d`` on int32 tensors without a bias; the sum
  times both scales plus the bias, unquantised, is the result, in the dtype of the weight that
  was given. Padding is 0 after that subtraction. One module called at two places has two inputs,
  hence two ``layer_N``.

About 120 lines. Do not use PyTorch's ``fake_quantize_...``, ``quantize_per_...`` or
``torch.ao.quantization``. Out of scope: NaN, empty tensors, padding modes other than zeros,
dilation (PyTorch has no integer kernel for it on a CPU), and sums that overflow int32, which
takes more than 60 000 terms.

In PyTorch: ``torch/ao/quantization/observer.py`` (``MinMaxObserver``), ``fake_quantize.py``
beside it, and ``aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp``. All of
``torch.ao.quantization`` is deprecated, though torch 2.13 still has it; so are tensors of dtype
``torch.qint8``. Their place is taken by the package torchao: ``quantize_`` for modules, and
``prepare_pt2e`` and ``convert_pt2e`` for graphs of ``torch.export``, with plain int8 tensors, as
here.
"""

from __future__ import annotations

import torch
from torch import fx
from torch import nn


LEAST_SCALE = torch.finfo(torch.float32).eps
INPUT_RANGE = (-128, 127)
WEIGHT_RANGE = (-127, 127)


def affine(low: float, high: float) -> tuple[float, int]:
    """Return scale and zero point of values between low and high, for [-128, 127]."""
    # TODO: widen the range to 0 first.
    raise NotImplementedError("affine")


def symmetric(weight: torch.Tensor) -> torch.Tensor:
    """Return a scale for each output channel, for [-127, 127] and zero point 0."""
    # TODO: all dims but the first are gone through.
    raise NotImplementedError("symmetric")


def quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return the nearest integers, as int8."""
    # TODO: round, shift, clamp.
    raise NotImplementedError("quantize")


def fake_quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return what is left of x after quantisation, with a gradient that goes straight through."""
    # TODO: a torch.autograd.Function.
    raise NotImplementedError("fake_quantize")


class Observer(nn.Module):
    """Sees values pass, and remembers the least and the greatest."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x."""
        # TODO: widen the range to what is in x.
        raise NotImplementedError("Observer.forward")


def prepare(module: fx.GraphModule) -> fx.GraphModule:
    """Return the module with observers."""
    # TODO: one observer for each value that a layer reads.
    raise NotImplementedError("prepare")


def simulate(prepared: fx.GraphModule) -> fx.GraphModule:
    """Return a float module that rounds as the integers will."""
    # TODO: put other submodules in the place of observers and layers.
    raise NotImplementedError("simulate")


def convert(prepared: fx.GraphModule) -> fx.GraphModule:
    """Return a module whose layers hold int8 weights and add up int32 products."""
    # TODO: the same with integers.
    raise NotImplementedError("convert")
