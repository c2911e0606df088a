"""Compute in int8, with a scale and a zero point.

A weight in int8 takes a quarter of the bytes that it takes in float32, and a phone multiplies int8
faster. Each number q stands for (q - zero_point) * scale:

    q        -128       -64        0       ...      127
    value    -1.0       0.0       1.0      ...       2.98        scale 1/64, zero_point -64

0 must be one of these values exactly: padding and relu produce many zeros. Int8 has no NaN. On one
machine a NaN became -128 in `fake_quantize`, 127 in `quantize_per_tensor` and 0 in
``.to(torch.int8)``.

1. `qparams`, then `quantize` and `dequantize`: for activations, whose range is measured.
2. `quantize_weight`: a scale for each row, and 0 stays 0.
3. `linear_int8`: a product of integers, in int32; the scales come last.

Begin with ``torch.tensor([127], dtype=torch.int8) - (-128)``, and explain it. About 22 lines.
Afterwards read ``aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp``
(`fake_quantize_tensor_cachemask_kernel`, and the helper that it calls).
"""

from __future__ import annotations

import math

import torch


LOWEST, HIGHEST = -128, 127


def qparams(low: float, high: float) -> tuple[float, int]:
    """Return scale and zero point for values from `low` to `high`, and for 0.

    The range is widened to contain 0; its ends map to `LOWEST` and `HIGHEST`. The zero point is
    rounded as Python rounds. A range of only 0 has scale 1.0 and zero point 0. Raise
    ValueError if an end is not finite.
    """
    # TODO: 255 steps.
    raise NotImplementedError("qparams")


def quantize(x: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """Return x in int8: x times 1/scale, rounded, plus the zero point, clamped to the ends.

    Ties round to even, as in `torch.round`; infinities go to the ends. Raise ValueError if there is
    a NaN.
    """
    # TODO: in floating point first.
    raise NotImplementedError("quantize")


def dequantize(q: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """Return what the int8 tensor stands for, in float32."""
    # TODO: an int8 minus a number is an int8.
    raise NotImplementedError("dequantize")


def quantize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a weight (out, in) in int8 and a float32 scale for each row; each zero point is 0.

    The largest magnitude of a row becomes 127; -128 is not used. A row of zeros has scale 1.
    """
    # TODO: one scale for each row.
    raise NotImplementedError("quantize_weight")


def linear_int8(
    q: torch.Tensor, scale: float, zero_point: int, weight: torch.Tensor, scales: torch.Tensor
) -> torch.Tensor:
    """Return what the int8 input (batch, in) times the transposed int8 weight stands for.

    In float32, of shape (batch, out). Sum over `in` in integers.
    """
    # TODO: int32, and the zero point.
    raise NotImplementedError("linear_int8")
