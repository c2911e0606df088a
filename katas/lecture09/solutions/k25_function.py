"""A function with setup_context, jvp and a generated batching rule."""

from __future__ import annotations

from typing import Any

import torch


class Smooth(torch.autograd.Function):
    """The function ``sqrt(x * x + eps * eps)`` of a tensor and a float, element by element."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, eps: float) -> torch.Tensor:
        """Return the values."""
        return (x * x + eps * eps).sqrt()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Save what backward and jvp need; `inputs` are the arguments of forward."""
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return a gradient for each input of forward."""
        x, y = ctx.saved_tensors
        return grad * x / y, None

    @staticmethod
    def jvp(ctx: Any, x_tangent: torch.Tensor, _: None) -> torch.Tensor:
        """Return the tangent of the output; the tangent of a float is None."""
        x, y = ctx.saved_tensors
        return x_tangent * x / y


def smooth(x: torch.Tensor, eps: float) -> torch.Tensor:
    """Return ``sqrt(x * x + eps * eps)``. Given."""
    found: torch.Tensor = Smooth.apply(x, eps)
    return found
