"""Store a float in eight bits, and train through the rounding.

An int8 weight takes a quarter of the memory of a float32 one. A number x is stored as an integer q,
with x ~ (q - zero_point) * scale. Which scale? Look at the values that occur:

    values from -1 to 3 in 255 steps      scale = 4 / 255      q(-1) = -128      q(3) = 127
    and 0, which padding and ReLU produce so often, must be exact:  zero_point = q(0)

1. `affine`, for inputs: one scale and zero point for all.
2. `symmetric`, for weights: a scale for each output channel, zero point 0.
3. `quantize`: to integers.
4. `fake_quantize`: to integers and back, in floats. Its true gradient is 0 nearly everywhere, so
   it lies: backward treats the rounding as the identity (a straight-through estimator).

About 20 lines. Begin on paper: which integer is 0 above?
Afterwards read ``MinMaxObserver`` in ``torch/ao/quantization/observer.py``. Real life differs:
``torch.ao.quantization`` is deprecated; torchao has taken its place, with plain int8 tensors as
here.
"""

from __future__ import annotations

import torch


LEAST_SCALE = torch.finfo(torch.float32).eps  # Given: no scale is smaller.
INPUT_RANGE = (-128, 127)
WEIGHT_RANGE = (-127, 127)


def affine(low: float, high: float) -> tuple[float, int]:
    """Return the scale and zero point that map values from `low` to `high` onto [-128, 127].

    First widen the range to hold 0. Then scale is its width over 255, and the zero point
    ``-128 - round(low / scale)``.
    """
    # TODO: widen the range to 0 first.
    raise NotImplementedError("affine")


def symmetric(weight: torch.Tensor) -> torch.Tensor:
    """Return the largest magnitude of each output channel (dim 0) over 127, without a graph.

    The result has the dims of `weight`, with size 1 in all but the first.
    """
    # TODO: reduce all dims except the first.
    raise NotImplementedError("symmetric")


def quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return ``round(x / scale) + zero_point``, clamped to [low, high], as int8.

    Halves round to even; `scale` may be a tensor that broadcasts.
    """
    # TODO: round, shift, clamp.
    raise NotImplementedError("quantize")


def fake_quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return ``(q - zero_point) * scale`` in the dtype of x, whatever the dtype of `scale`.

    The gradient goes straight through where ``round(x / scale) + zero_point`` is in [low, high]
    before it is clamped; elsewhere it is 0. `scale` gets no gradient.
    """
    # TODO: a torch.autograd.Function.
    raise NotImplementedError("fake_quantize")
