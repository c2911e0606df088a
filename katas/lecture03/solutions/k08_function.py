"""Operators of your own: what to save, what to skip, what to refuse."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: autograd does not see what it computes."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change: autograd does not see this either."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class Exp(torch.autograd.Function):
    """``Exp.apply(x)`` is ``x.exp()``; it saves its result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return ``x.exp()``."""
        result = x.exp()
        # Because it is saved as an output, it comes back with this node as its history.
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        (result,) = ctx.saved_tensors
        return grad * result


class Mul(torch.autograd.Function):
    """``Mul.apply(a, b)`` is ``a * b`` for tensors of equal shape."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``a * b``."""
        by_a, by_b = ctx.needs_input_grad
        ctx.save_for_backward(b if by_a else None, a if by_b else None)
        return a * b

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients with respect to `a` and `b`: one product each, or None."""
        b, a = ctx.saved_tensors
        return None if b is None else grad * b, None if a is None else grad * a


class CubeOnce(torch.autograd.Function):
    """``CubeOnce.apply(x)`` is x cubed, with a first derivative; recording a second raises."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed, computed by `cube_kernel`."""
        ctx.save_for_backward(x)
        return cube_kernel(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of `x`, computed by `cube_grad_kernel`."""
        (x,) = ctx.saved_tensors
        return cube_grad_kernel(grad, x)
