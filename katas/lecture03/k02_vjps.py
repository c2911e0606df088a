"""Vector-Jacobian products: five formulas by hand.

``x.exp()`` of a million numbers has a Jacobian with a million rows and a million columns. Backward
builds none. An operator with a formula has a function instead, which maps the gradient of its
result to the gradients of its inputs:

    result = a * b          grad = d loss / d result
                            d loss / d a = grad * b

Write that function for five operators, about 9 lines, in the order of the file:

1. `exp_vjp`: the slope of exp is already known.
2. `mul_vjp`: sum over whatever was repeated; ``Tensor.sum_to_size`` does it (k05 builds it).
3. `matmul_vjp`: only one arrangement has the right shapes.
4. `sum_vjp`: repeat whatever was summed, without a copy.
5. `softmax_vjp`: each input affects its whole row.

- Use operators that autograd can differentiate again: the tests do.
- Don't run autograd, nor an operator whose name contains "backward".

Begin on paper: a row of two numbers. Which results does x[0] affect, and by how much?
Afterwards open ``torchgen/packaged/autograd/derivatives.yaml`` in site-packages
(``tools/autograd/derivatives.yaml`` in the repository): an entry for each operator that has a
formula of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def exp_vjp(grad: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``result = x.exp()`` with respect to `x`, without another exp.

    In all five, `grad` has the shape of the result, and a returned gradient that of its input.
    """
    # TODO: what is the slope of exp?
    raise NotImplementedError("exp_vjp")


def mul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a * b`` with respect to `a` and `b`, which broadcast."""
    # TODO: each factor's slope is the other factor; then undo the broadcasting.
    raise NotImplementedError("mul_vjp")


def matmul_vjp(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of ``a @ b`` with respect to `a` (n, k) and `b` (k, m)."""
    # TODO: only one arrangement has the right shapes.
    raise NotImplementedError("matmul_vjp")


def sum_vjp(
    grad: torch.Tensor, shape: Sequence[int], dims: Sequence[int], *, keepdim: bool
) -> torch.Tensor:
    """Return the gradient of ``x.sum(dims, keepdim)`` for an x of `shape`, as a view of `grad`.

    `dims` holds at least one dim, in any order; dims may be negative.
    """
    # TODO: put the dims back, then repeat without a copy.
    raise NotImplementedError("sum_vjp")


def softmax_vjp(grad: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """Return the gradient of ``result = x.softmax(dim)`` with respect to `x`, from the result."""
    # TODO: every input along `dim` affects every result along `dim`.
    raise NotImplementedError("softmax_vjp")
