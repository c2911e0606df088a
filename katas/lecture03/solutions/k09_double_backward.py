"""Make a gradient differentiable, for a kernel that autograd cannot see."""

from __future__ import annotations

from typing import Any

import torch


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: autograd does not see what it computes."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change: autograd does not see this either."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class CubeGrad(torch.autograd.Function):
    """``CubeGrad.apply(grad, x)`` is ``3 * x ** 2 * grad``, with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return ``3 * x ** 2 * grad``, computed by `cube_grad_kernel`."""
        ctx.save_for_backward(grad, x)
        return cube_grad_kernel(grad, x)

    @staticmethod
    def backward(
        ctx: Any, gradgrad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients of `grad` and `x`, or None for one that is not needed."""
        grad, x = ctx.saved_tensors
        for_grad, for_x = ctx.needs_input_grad
        by_grad = 3 * x * x * gradgrad if for_grad else None
        by_x = 6 * x * grad * gradgrad if for_x else None
        return by_grad, by_x


class Cube(torch.autograd.Function):
    """``Cube.apply(x)`` is x cubed, with derivatives of first and second order."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed, computed by `cube_kernel`."""
        ctx.save_for_backward(x)
        return cube_kernel(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of `x`, in a way that autograd records."""
        (x,) = ctx.saved_tensors
        # The kernel alone would leave no history for a second derivative.
        return CubeGrad.apply(grad, x)
