"""Five more formulas, for operators that choose, read and join.

``torch.where(x > 0, x.log(), 0)`` is finite, but its gradient at 0 is NaN: the unchosen side's
0 was multiplied by an infinite slope. Selecting looks harmless in forward; in backward you must
decide about each element that was not chosen, was read twice, or tied for the maximum.

    x = [5, 7, 5]    x.amax()                  one maximum: it gets the whole gradient
    x = [7, 7, 5]    x.amax()                  two: they get half each
    x[[2, 0, 2]]     x[2] was read twice       it gets the sum of two gradients

Write five formulas, about 9 lines: `div_vjp`, `where_vjp`, `amax_vjp`, `index_select_vjp` and
`cat_vjp`.

- Use operators that autograd can differentiate again: the tests do.
- Don't run autograd, nor an operator whose name contains "backward".

Begin on paper: ``torch.tensor(float("inf")) * 0``. Which operator selects instead?
Afterwards find ``scale_grad_by_count`` and ``cat_tensors_backward`` in PyTorch's
``torch/csrc/autograd/FunctionsManual.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def div_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a / b`` with respect to `a` and `b`, which broadcast.

    In all five, `grad` has the shape of the result, and a returned gradient that of its input.
    """
    # TODO: the quotient rule.
    raise NotImplementedError("div_vjp")


def where_vjp(
    grad: torch.Tensor,
    condition: torch.Tensor,
    a_shape: Sequence[int],
    b_shape: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``torch.where(condition, a, b)`` with respect to `a` and `b`.

    All three broadcast. The side that was not chosen gets exactly 0, even where `grad` is infinite.
    """
    # TODO: infinity times 0 is NaN.
    raise NotImplementedError("where_vjp")


def amax_vjp(grad: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient of ``result = x.amax(dim, keepdim=True)`` with respect to `x`.

    Elements that tie for the maximum share the gradient evenly.
    """
    # TODO: which elements are the maximum, and how many?
    raise NotImplementedError("amax_vjp")


def index_select_vjp(
    grad: torch.Tensor, shape: Sequence[int], dim: int, index: torch.Tensor
) -> torch.Tensor:
    """Return the gradient of ``x.index_select(dim, index)`` for an x of `shape`.

    An index may occur several times, or not at all.
    """
    # TODO: reading twice in forward means adding twice in backward.
    raise NotImplementedError("index_select_vjp")


def cat_vjp(grad: torch.Tensor, sizes: Sequence[int], dim: int) -> tuple[torch.Tensor, ...]:
    """Return the gradients of ``torch.cat(tensors, dim)`` with respect to the tensors.

    Return a tuple of views of `grad`. `sizes` are the sizes of the tensors along `dim`.
    """
    # TODO: split it where it was joined.
    raise NotImplementedError("cat_vjp")
