"""Five more formulas: those that choose, read and join.

``torch.where(x > 0, x.log(), 0)`` is finite, and its gradient at 0 is NaN: the 0 for the side that
was not chosen met an infinite slope. Selecting looks harmless in forward; in backward each element
that was not chosen, read twice or tied for the first place wants a decision.

    x = [5, 7, 5]    x.amax()                  two largest? no: one, and it gets it all
    x = [7, 7, 5]    x.amax()                  two: a half each
    x[[2, 0, 2]]     x[2] was read twice       it gets two gradients

Write five, about 9 lines: `div_vjp`, `where_vjp`, `amax_vjp`, `index_select_vjp`, `cat_vjp`.

- Use operators that autograd can differentiate again: the tests do.
- Don't run autograd, nor an operator whose name contains "backward".

Begin on paper: ``torch.tensor(float("inf")) * 0``. What would choose instead?
Afterwards find ``scale_grad_by_count`` and ``cat_tensors_backward`` in PyTorch's
``torch/csrc/autograd/FunctionsManual.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Sequence


def div_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``a / b``, which broadcast.

    As everywhere here, `grad` has the shape of the result, and what you return that of the input.
    """
    # TODO: the quotient rule.
    raise NotImplementedError("div_vjp")


def where_vjp(
    grad: torch.Tensor,
    condition: torch.Tensor,
    a_shape: Sequence[int],
    b_shape: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients by `a` and by `b` of ``torch.where(condition, a, b)``.

    All three broadcast. A side that was not chosen gets exactly 0, even where `grad` is infinite.
    """
    # TODO: infinity times 0 is NaN.
    raise NotImplementedError("where_vjp")


def amax_vjp(grad: torch.Tensor, x: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient by `x` of ``result = x.amax(dim, keepdim=True)``.

    Elements that tie for the maximum share evenly.
    """
    # TODO: who is the maximum, and how many are they?
    raise NotImplementedError("amax_vjp")


def index_select_vjp(
    grad: torch.Tensor, shape: Sequence[int], dim: int, index: torch.Tensor
) -> torch.Tensor:
    """Return the gradient by `x`, of that shape, of ``x.index_select(dim, index)``.

    An index may occur several times, or not at all.
    """
    # TODO: reading twice in forward is adding twice in backward.
    raise NotImplementedError("index_select_vjp")


def cat_vjp(grad: torch.Tensor, sizes: Sequence[int], dim: int) -> tuple[torch.Tensor, ...]:
    """Return the gradients by the tensors of ``torch.cat(tensors, dim)``.

    They come as a tuple of views of `grad`. `sizes` are the sizes of the tensors along `dim`.
    """
    # TODO: cut it where it was joined.
    raise NotImplementedError("cat_vjp")
