"""Store a float in eight bits, and train through the rounding."""

from __future__ import annotations

from typing import Any

import torch


LEAST_SCALE = torch.finfo(torch.float32).eps  # Given: no scale is smaller.


INPUT_RANGE = (-128, 127)


WEIGHT_RANGE = (-127, 127)


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


class _FakeQuantize(torch.autograd.Function):
    """Rounds in forward, and ignores the rounding in backward."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any, zero_point: int, ends: tuple[int, int]) -> Any:
        """Quantise and convert back; remember which elements were in range."""
        low, high = ends
        steps = torch.round(x / scale) + zero_point
        ctx.save_for_backward((low <= steps) & (steps <= high))
        # A tensor scale of another dtype would promote the result.
        return ((steps.clamp(low, high) - zero_point) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Pass on the gradient of the elements that were in range."""
        (inside,) = ctx.saved_tensors
        return gradient * inside, None, None, None


def fake_quantize(
    x: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int, high: int
) -> torch.Tensor:
    """Return x quantised and converted back, with a gradient that goes straight through."""
    return _FakeQuantize.apply(x, scale, zero_point, (low, high))
