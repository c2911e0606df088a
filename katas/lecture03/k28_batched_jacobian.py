"""Perf: a whole Jacobian in one run of the engine.

Reverse mode gives one row of a Jacobian per backward: a vector-Jacobian product with one row
of the identity. For n outputs that is n runs of the engine, and in each of them every operator
is called for a vector. All rows at once are one run over matrices: ``torch.autograd.grad`` with
``is_grads_batched=True`` takes gradients with one dim more in front, and vmap carries that dim
through every backward formula.

1. ``jacobian(function, x, chunk=None)``: call ``function(x)`` once, on a leaf of your own that
   requires grad (`x` itself may or may not require grad, may be a leaf or not, and stays as it
   is: neither its ``.grad`` nor its ``requires_grad`` change), and return a new tensor J of
   shape ``y.shape + x.shape``, with J[i..., j...] the derivative of y[i...] by x[j...]. `x` and
   y = function(x) have any shape with at least one element, and y depends on x by its graph.
   J has no graph. ``chunk`` bounds the memory: no run of the engine may carry more than
   `chunk` rows (an int of 1 or more; None: all at once), and no more runs than that takes.
2. ``hessian(function, x)``: the second derivatives of a function whose result has no dims, and
   whose gradient depends on x: shape ``x.shape + x.shape``; the Jacobian of the gradient. For
   it, function(x) must be called once, and the engine runs over it twice: once for the gradient,
   once for all rows.

The bar: ``jacobian`` must be at least 4 times as fast as one backward per row for a net with 5
layers of 16 and one of 128, with sines between. About 15 lines. ``torch.func.jacrev``,
``jacfwd``, ``hessian`` and ``torch.autograd.functional`` are made of this: do not call them.

In PyTorch: ``torch/autograd/__init__.py`` (``grad``, ``is_grads_batched``),
``torch/_vmap_internals.py`` (``_vmap``) and ``torch/autograd/functional.py`` (``jacobian`` with
``vectorize=True``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable


def jacobian(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, chunk: int | None = None
) -> torch.Tensor:
    """Return the derivatives of all entries of ``function(x)`` by all entries of `x`."""
    # TODO: the rows of an identity matrix are the gradients to send back, all at once.
    raise NotImplementedError("jacobian")


def hessian(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the second derivatives of a scalar ``function(x)``."""
    # TODO: of which function is it the Jacobian?
    raise NotImplementedError("hessian")
