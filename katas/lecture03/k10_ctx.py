"""Debug: memory that waits for the garbage collector, and a gradient that is silently wrong.

Both come from a habit: writing ``ctx.y = y`` in the forward of an ``autograd.Function``. Look at
the cycle:

    y  owns  its grad_fn, the node  -- that is ctx --  which owns  y

Values and gradients below are right, yet two of the functions have a bug. Fix them, in a line or
two each.

- Pass inputs and results to ``save_for_backward``: autograd notices writes to them, and frees them
  after backward.

Begin on paper: which of the three attributes hold a tensor?
Afterwards read ``save_for_backward`` in ``torch/autograd/function.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch


# TODO: find the two. Nothing here raises NotImplementedError: the code is written, but wrong.


class Sigmoid(torch.autograd.Function):
    """``Sigmoid.apply(x)`` is ``x.sigmoid()``; backward works from the result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the result, and keep it for backward."""
        y = x.sigmoid()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        y = ctx.y
        return grad * y * (1 - y)


class Square(torch.autograd.Function):
    """``Square.apply(x)`` is ``x * x``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the result, and keep the input for backward."""
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        x = ctx.x
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
