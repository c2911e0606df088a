"""Compute in int8, with a scale and a zero point."""

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
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"no scale for values from {low} to {high}")
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return 1.0, 0
    scale = (high - low) / (HIGHEST - LOWEST)
    return scale, round(LOWEST - low / scale)


def quantize(x: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """Return x in int8: x times 1/scale, rounded, plus the zero point, clamped to the ends.

    Ties round to even, as in `torch.round`; infinities go to the ends. Raise ValueError if there is
    a NaN.
    """
    if x.isnan().any():
        raise ValueError("int8 has no NaN")
    rounded = torch.round(x * (1 / scale)) + zero_point
    return rounded.clamp(LOWEST, HIGHEST).to(torch.int8)


def dequantize(q: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """Return what the int8 tensor stands for, in float32."""
    return (q.float() - zero_point) * scale


def quantize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a weight (out, in) in int8 and a float32 scale for each row; each zero point is 0.

    The largest magnitude of a row becomes 127; -128 is not used. A row of zeros has scale 1.
    """
    scales = weight.abs().amax(1) / HIGHEST
    scales = torch.where(scales == 0, 1.0, scales)
    rounded = torch.round(weight / scales[:, None])
    return rounded.to(torch.int8), scales


def linear_int8(
    q: torch.Tensor, scale: float, zero_point: int, weight: torch.Tensor, scales: torch.Tensor
) -> torch.Tensor:
    """Return what the int8 input (batch, in) times the transposed int8 weight stands for.

    In float32, of shape (batch, out). Sum over `in` in integers.
    """
    total = (q.int() - zero_point) @ weight.int().t()
    return total * (scale * scales)
