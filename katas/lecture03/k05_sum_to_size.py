"""Undo a broadcast: sum the gradient of everything that was repeated.

A bias of 3 numbers is added to 4 rows. Its gradient arrives with 4 rows, but ``bias.grad`` has one:
something has summed it. The formula of ``add`` does not say so. Try it:

    bias = torch.ones(3, requires_grad=True)
    (torch.zeros(4, 3) + bias).sum().backward()
    print(bias.grad)                                        # [4., 4., 4.]

Write that sum, and two operators that need it, about 15 lines:

1. `sum_to_size`: which dims are new, and which were 1?
2. `Expand`, an ``autograd.Function``: backward returns a gradient for each argument of ``apply``,
   and None for one that is not a tensor.
3. `Add`: return None for a gradient that ``ctx.needs_input_grad`` doesn't ask for.

- Compute one sum over all dims together; if nothing was repeated, do nothing.
- Keep shapes for backward, not tensors.

Begin on paper: write (2, 1, 4) under (5, 2, 3, 4), flush right. Which columns do you sum?
Afterwards find ``sum_to`` in PyTorch's ``aten/src/ATen/ExpandUtils.h``, and who calls it in
``validate_outputs`` of ``torch/csrc/autograd/engine.cpp``.
"""

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
    """Return `tensor` summed over the dims that expanding from `shape` repeats.

    The result has `shape`. If nothing was repeated, return `tensor` itself; else run a single sum
    over all dims together, and a view or two. Do not call ``Tensor.sum_to_size``.

    Raises
    ------
    ValueError
        If `shape` cannot be expanded to the shape of `tensor`. Given.
    """
    if not is_expandable_to(shape, tensor.shape):
        raise ValueError(f"{tuple(shape)} is not expandable to {tuple(tensor.shape)}")
    # TODO: which dims are new, and which were 1?
    raise NotImplementedError("sum_to_size")


class Expand(torch.autograd.Function):
    """``Expand.apply(x, shape)`` is ``x.expand(shape)``."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """Return `x` expanded, as a view, and keep on ctx what backward needs."""
        # TODO: expand.
        raise NotImplementedError("Expand.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient of `x`, in its shape, and None for the shape argument."""
        # TODO: undo it.
        raise NotImplementedError("Expand.backward")


class Add(torch.autograd.Function):
    """``Add.apply(a, b)`` is ``a + b``, broadcast."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum, and keep on ctx what backward needs."""
        # TODO: add.
        raise NotImplementedError("Add.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients with respect to `a` and `b`.

        For a gradient that is not needed, return None and compute no sum.
        """
        # TODO: one sum for each gradient that is needed.
        raise NotImplementedError("Add.backward")
