"""Vector-Jacobian products: five formulas by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def exp_vjp(grad: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.exp()``, without another exponential."""
    return grad * result


def mul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``a * b``, which broadcast."""
    return (grad * b).sum_to_size(a.shape), (grad * a).sum_to_size(b.shape)


def matmul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``a @ b``, matrices (n, k) and (k, m)."""
    return grad @ b.mT, a.mT @ grad


def sum_vjp(
    grad: torch.Tensor, shape: Sequence[int], dims: Sequence[int], *, keepdim: bool
) -> torch.Tensor:
    """Return the gradient by `x`, of that shape, of ``x.sum(dims, keepdim)``: a view of `grad`."""
    if not keepdim:
        # From the left, so that each dim's number is right when it is put back.
        for dim in sorted(dim % len(shape) for dim in dims):
            grad = grad.unsqueeze(dim)
    return grad.expand(shape)


def softmax_vjp(grad: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.softmax(dim)``, from the result."""
    # The Jacobian is diag(result) - result result^T; it is symmetric and never built.
    weighted = grad * result
    return weighted - result * weighted.sum(dim, keepdim=True)
