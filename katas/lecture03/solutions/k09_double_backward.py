"""Double backward: functions whose gradient has a gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: it computes where autograd sees nothing."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change; likewise."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class Exp(torch.autograd.Function):
    """The exponential, which saves its result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return ``x.exp()``."""
        result = x.exp()
        # Saved as an output, it comes back with this very node as its history.
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`."""
        (result,) = ctx.saved_tensors
        return grad * result


class Mul(torch.autograd.Function):
    """A product that saves, and computes, only what is needed."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``a * b``."""
        by_a, by_b = ctx.needs_input_grad
        ctx.save_for_backward(b if by_a else None, a if by_b else None)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `a` and by `b`, None for one that is not needed."""
        b, a = ctx.saved_tensors
        return None if b is None else grad * b, None if a is None else grad * a


class CubeOnce(torch.autograd.Function):
    """The cube by kernels, with a first derivative only."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed."""
        ctx.save_for_backward(x)
        return cube_kernel(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`."""
        (x,) = ctx.saved_tensors
        return cube_grad_kernel(grad, x)


class CubeGrad(torch.autograd.Function):
    """The first derivative of the cube, as a function with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return ``3 * x ** 2 * grad``."""
        ctx.save_for_backward(grad, x)
        return cube_grad_kernel(grad, x)

    @staticmethod
    def backward(
        ctx: Any, gradgrad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `grad` and by `x`, None for one that is not needed."""
        grad, x = ctx.saved_tensors
        for_grad, for_x = ctx.needs_input_grad
        by_grad = 3 * x * x * gradgrad if for_grad else None
        by_x = 6 * x * grad * gradgrad if for_x else None
        return by_grad, by_x


class Cube(torch.autograd.Function):
    """The cube by kernels, with derivatives of second order."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed."""
        ctx.save_for_backward(x)
        return cube_kernel(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`, in a way that autograd records."""
        (x,) = ctx.saved_tensors
        # The kernel alone would leave no history for a second derivative.
        return CubeGrad.apply(grad, x)
