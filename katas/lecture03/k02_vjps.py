"""Vector-Jacobian products: the backward formulas of ten operators.

Reverse mode never builds a Jacobian. Every operator brings a function that takes the gradient of
the loss by its result, `grad`, and returns the gradients of the loss by its inputs. Write these
functions for ten operators, from plain operations of torch that are themselves differentiable
(the tests differentiate your formulas again). `grad` has the shape of the result; each gradient
you return has the shape of its input.

1. ``mul_vjp(grad, a, b)`` of ``a * b`` and ``div_vjp(grad, a, b)`` of ``a / b``. Both broadcast:
   an input that was repeated gets the sum over its copies. ``Tensor.sum_to_size`` does that sum
   (the next kata builds it).
2. ``where_vjp(grad, condition, a_shape, b_shape)`` of ``torch.where(condition, a, b)``; all three
   broadcast. A side that was not chosen gets exactly 0, even where `grad` is infinite.
3. ``exp_vjp(grad, result)``: from the result, without computing an exponential.
4. ``softmax_vjp(grad, result, dim)`` of ``result = x.softmax(dim)``: from the result as well.
5. ``matmul_vjp(grad, a, b)`` of ``a @ b`` for matrices of shapes (n, k) and (k, m).
6. ``sum_vjp(grad, shape, dims, *, keepdim)`` of ``x.sum(dims, keepdim)`` for an x of that shape;
   `dims` holds at least one dim, in any order, and may count from the end. Do not copy: the
   gradient is a view of `grad`.
7. ``amax_vjp(grad, x, result, dim)`` of ``result = x.amax(dim, keepdim=True)``. Elements that
   tie for the maximum share the gradient evenly.
8. ``index_select_vjp(grad, shape, dim, index)`` of ``x.index_select(dim, index)``. An index may
   occur several times, or not at all.
9. ``cat_vjp(grad, sizes, dim)`` of ``torch.cat(tensors, dim)``, where `sizes` are the sizes of the
   tensors along `dim`. Return a tuple of views of `grad`.

Out of scope: complex numbers, integers, which inputs need a gradient. Not allowed: running
autograd inside the formulas, and operators of torch whose names contain "backward".

About 30 lines in all. In PyTorch: ``tools/autograd/derivatives.yaml`` holds a line per operator and
``torch/csrc/autograd/FunctionsManual.cpp`` the longer formulas (``div_tensor_other_grad``,
``scale_grad_by_count``, ``sum_backward``, ``cat_tensors_backward``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def mul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``a * b``."""
    # TODO: each factor's slope is the other factor; then undo the broadcasting.
    raise NotImplementedError("mul_vjp")


def div_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``a / b``."""
    # TODO: the quotient rule.
    raise NotImplementedError("div_vjp")


def where_vjp(
    grad: torch.Tensor,
    condition: torch.Tensor,
    a_shape: Sequence[int],
    b_shape: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``torch.where(condition, a, b)``."""
    # TODO: infinity times 0 is NaN.
    raise NotImplementedError("where_vjp")


def exp_vjp(grad: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.exp()``."""
    # TODO: what is the slope of exp?
    raise NotImplementedError("exp_vjp")


def softmax_vjp(grad: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.softmax(dim)``."""
    # TODO: every input along `dim` moves every result along `dim`.
    raise NotImplementedError("softmax_vjp")


def matmul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of the product of two matrices."""
    # TODO: only one arrangement has the right shapes.
    raise NotImplementedError("matmul_vjp")


def sum_vjp(
    grad: torch.Tensor, shape: Sequence[int], dims: Sequence[int], *, keepdim: bool
) -> torch.Tensor:
    """Return the gradient by `x` of ``x.sum(dims, keepdim)``, as a view of `grad`."""
    # TODO: put the dims back, then repeat without a copy.
    raise NotImplementedError("sum_vjp")


def amax_vjp(grad: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.amax(dim, keepdim=True)``."""
    # TODO: who is the maximum, and how many are they?
    raise NotImplementedError("amax_vjp")


def index_select_vjp(
    grad: torch.Tensor, shape: Sequence[int], dim: int, index: torch.Tensor
) -> torch.Tensor:
    """Return the gradient by `x`, of that shape, of ``x.index_select(dim, index)``."""
    # TODO: reading twice in forward is adding twice in backward.
    raise NotImplementedError("index_select_vjp")


def cat_vjp(grad: torch.Tensor, sizes: Sequence[int], dim: int) -> tuple[torch.Tensor, ...]:
    """Return the gradients by the tensors of ``torch.cat(tensors, dim)``, as views of `grad`."""
    # TODO: cut it where it was joined.
    raise NotImplementedError("cat_vjp")
