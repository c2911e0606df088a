"""Undo a broadcast: the gradient of everything that repeats.

A bias of 3 numbers is added to 4 rows. Its gradient arrives with 4 rows, and ``bias.grad`` has one:
somebody has summed. The formula of ``add`` does not say so. Try it:

    bias = torch.ones(3, requires_grad=True)
    (torch.zeros(4, 3) + bias).sum().backward()
    print(bias.grad)                                        # [4., 4., 4.]

Write that sum, and two operators that need it, about 15 lines:

1. `sum_to_size`: which dims are new, and which were 1?
2. `Expand`, an ``autograd.Function``: backward returns a gradient for each argument of
   ``apply``, None for what is no tensor.
3. `Add`: a gradient that ``ctx.needs_input_grad`` doesn't ask for is None.

- One sum over all dims at a time; nothing repeated, nothing done.
- Keep shapes for backward, not tensors.

Begin on paper: write (2, 1, 4) under (5, 2, 3, 4), flush right. Which columns are summed?
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
    """Return `tensor` summed over all that expanding from `shape` to its shape repeats.

    The result has `shape`. Where nothing was repeated it is `tensor` itself; else a single sum
    runs, over all dims together, and a view or two. ``Tensor.sum_to_size`` is not for you.

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
        """Return `x` expanded, a view, and note on ctx what backward needs."""
        # TODO: expand.
        raise NotImplementedError("Expand.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient by `x`, in its shape, and None for the shape."""
        # TODO: undo it.
        raise NotImplementedError("Expand.backward")


class Add(torch.autograd.Function):
    """``Add.apply(a, b)`` is ``a + b``, broadcast."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum, and note on ctx what backward needs."""
        # TODO: add.
        raise NotImplementedError("Add.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `a` and by `b`; None, and no sum, for one that is not needed."""
        # TODO: one sum each, where it is needed.
        raise NotImplementedError("Add.backward")
