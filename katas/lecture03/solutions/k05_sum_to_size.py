"""Undo a broadcast: sum the gradient of everything that was repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Return whether a tensor of `shape` can be expanded to `desired`. Given."""
    if len(shape) > len(desired):
        return False
    pairs = zip(reversed(shape), reversed(desired), strict=False)
    return all(size in {1, wanted} for size, wanted in pairs)


def sum_to_size(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Return `tensor` summed over the dims that expanding from `shape` repeats."""
    if not is_expandable_to(shape, tensor.shape):
        raise ValueError(f"{tuple(shape)} is not expandable to {tuple(tensor.shape)}")
    new = tensor.dim() - len(shape)
    grown = [dim for dim, size in enumerate(shape, new) if size != tensor.shape[dim]]
    dims = [*range(new), *grown]
    # Without this check, a sum over an empty list of dims would sum over all.
    if not dims:
        return tensor
    # The view restores, with size 1, the dims that had grown from 1.
    return tensor.sum(dims).view(shape)


class Expand(torch.autograd.Function):
    """``Expand.apply(x, shape)`` is ``x.expand(shape)``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """Return `x` expanded, as a view, and keep on ctx what backward needs."""
        ctx.shape = x.shape
        return x.expand(shape)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient of `x`, in its shape, and None for the shape argument."""
        return sum_to_size(grad, ctx.shape), None


class Add(torch.autograd.Function):
    """``Add.apply(a, b)`` is ``a + b``, broadcast."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum, and keep on ctx what backward needs."""
        ctx.shapes = a.shape, b.shape
        return a + b

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients with respect to `a` and `b`.

        For a gradient that is not needed, return None and compute no sum.
        """
        by_a, by_b = (
            sum_to_size(grad, shape) if needed else None
            for shape, needed in zip(ctx.shapes, ctx.needs_input_grad, strict=True)
        )
        return by_a, by_b
