"""Undoing a broadcast: the gradient of everything that repeats.

Broadcasting repeats an element without a copy. In the backward, an element that was used n
times gets the sum of n gradients: the gradient, in the shape of the result, is summed down to
the shape of the input. Write that sum and two operators that need it.

1. ``is_expandable_to(shape, desired)``: can a tensor of that shape be expanded to `desired`?
   Dims are aligned at the last one; new dims may stand in front; a dim of size 1 may become any
   size, 0 too; every other dim keeps its size. No tensor is made here.
2. ``sum_to_size(tensor, shape)``: the sum of `tensor` over all that expanding from `shape` would
   have repeated. The result has that shape.

   - Raise ``ValueError`` unless `shape` is expandable to the tensor's shape. The message shows both
     as tuples: first `shape`, then the tensor's.
   - If `tensor` has that shape already, nothing was repeated: return it itself, not a copy, not a
     view.
   - Otherwise run exactly one sum, over all the dims at once. A view or two to bring the result
     into shape are free.
3. ``Expand``, an ``autograd.Function``: ``Expand.apply(x, shape)`` returns ``x.expand(shape)``,
   and its backward uses your sum. A function takes one gradient per result and returns one per
   input of ``apply``; for what is no tensor that is ``None``.
4. ``Add``, likewise: ``Add.apply(a, b)`` returns ``a + b``, broadcast. Nothing of `a` and `b` is
   saved but their shapes. An input that needs no gradient (``ctx.needs_input_grad``) gets
   ``None``, and no operator is run for it.

Not allowed: ``Tensor.sum_to_size``, and autograd inside ``sum_to_size``. Out of scope: -1 as a size
of `shape`, results without gradients.

About 30 lines. In PyTorch: ``aten/src/ATen/ExpandUtils.h`` (``sum_to``) and
``aten/src/ATen/ExpandUtils.cpp``; the engine calls it too, when a gradient comes back larger than
the input was (``torch/csrc/autograd/engine.cpp``, ``validate_outputs``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Return whether a tensor of `shape` can be expanded to `desired`."""
    # TODO: compare from the last dim on.
    raise NotImplementedError("is_expandable_to")


def sum_to_size(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Return `tensor` summed over the dims that expanding from `shape` repeats.

    Raises
    ------
    ValueError
        If `shape` cannot be expanded to the shape of `tensor`.
    """
    # TODO: which dims are new, and which were 1?
    raise NotImplementedError("sum_to_size")


class Expand(torch.autograd.Function):
    """``x.expand(shape)`` with a backward of our own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
        """Return `x` expanded, and note what backward needs."""
        # TODO: expand.
        raise NotImplementedError("Expand.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient by `x`, and None for the shape."""
        # TODO: undo it.
        raise NotImplementedError("Expand.backward")


class Add(torch.autograd.Function):
    """``a + b``, broadcast, with a backward of our own."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum, and note what backward needs."""
        # TODO: add.
        raise NotImplementedError("Add.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `a` and by `b`, None for one that is not needed."""
        # TODO: one sum each, where it is needed.
        raise NotImplementedError("Add.backward")
