"""Five more formulas, for operators that choose, read and join."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def div_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a / b`` with respect to `a` and `b`, which broadcast."""
    by_a = grad / b
    return by_a.sum_to_size(a.shape), (-by_a * a / b).sum_to_size(b.shape)


def where_vjp(
    grad: torch.Tensor,
    condition: torch.Tensor,
    a_shape: Sequence[int],
    b_shape: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``torch.where(condition, a, b)`` with respect to `a` and `b`."""
    # Select: multiplying by the condition would turn an infinite gradient into NaN.
    by_a = grad.where(condition, 0)
    by_b = grad.where(~condition, 0)
    return by_a.sum_to_size(a_shape), by_b.sum_to_size(b_shape)


def amax_vjp(grad: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient of ``result = x.amax(dim, keepdim=True)`` with respect to `x`."""
    largest = x == result
    return grad * largest / largest.sum(dim, keepdim=True)


def index_select_vjp(
    grad: torch.Tensor, shape: Sequence[int], dim: int, index: torch.Tensor
) -> torch.Tensor:
    """Return the gradient of ``x.index_select(dim, index)`` for an x of `shape`."""
    # index_add adds for every occurrence; an assignment would keep only the last.
    return grad.new_zeros(shape).index_add(dim, index, grad)


def cat_vjp(grad: torch.Tensor, sizes: Sequence[int], dim: int) -> tuple[torch.Tensor, ...]:
    """Return the gradients of ``torch.cat(tensors, dim)`` with respect to the tensors."""
    return grad.split(list(sizes), dim)
