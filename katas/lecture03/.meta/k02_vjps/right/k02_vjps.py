"""Vector-Jacobian products: five formulas by hand. With other operators."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def exp_vjp(grad: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``result = x.exp()`` with respect to `x`, without another exp."""
    return grad * result


def mul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a * b`` with respect to `a` and `b`, which broadcast."""
    return (grad * b).sum_to_size(a.shape), (grad * a).sum_to_size(b.shape)


def matmul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a @ b`` with respect to `a` (n, k) and `b` (k, m)."""
    return grad @ b.mT, a.mT @ grad


def sum_vjp(
    grad: torch.Tensor,
    shape: Sequence[int],
    dims: Sequence[int],
    *,
    keepdim: bool,
) -> torch.Tensor:
    """Return the gradient of ``x.sum(dims, keepdim)`` for an x of `shape`, as a view of `grad`."""
    summed = {dim % len(shape) for dim in dims}
    kept = [1 if dim in summed else size for dim, size in enumerate(shape)]
    return grad.reshape(kept).broadcast_to(shape)


def softmax_vjp(grad: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient of ``result = x.softmax(dim)`` with respect to `x`, from the result."""
    # What all results of a row have in common is taken off first.
    return result * (grad - (grad * result).sum(dim, keepdim=True))
