"""Debug: memory that waits for the garbage collector, and a gradient that is silently wrong."""

from __future__ import annotations

from typing import Any

import torch


class Sigmoid(torch.autograd.Function):
    """``Sigmoid.apply(x)`` is ``x.sigmoid()``; backward works from the result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the result, and keep it for backward."""
        y = x.sigmoid()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        (y,) = ctx.saved_tensors
        return grad * y * (1 - y)


class Square(torch.autograd.Function):
    """``Square.apply(x)`` is ``x * x``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the result, and keep the input for backward."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Scale(torch.autograd.Function):
    """``Scale.apply(x, factor)`` is ``x * factor``, for a float."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        """Return the result, and keep the factor for backward."""
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient with respect to `x`, and None for the factor."""
        return grad * ctx.factor, None
