"""Perf: a whole Jacobian in one run of the engine.

Reverse mode gives a row of the Jacobian for each backward. For 128 outputs that is 128 runs, and in
each of them every operator is called for a vector. All rows together are a matrix:

    torch.autograd.grad(y, x, rows, is_grads_batched=True)      # rows: one dim more in front

vmap carries that dim through the formulas. Use it, about 13 lines:

1. `jacobian`: which gradients ask for all rows? `chunk` bounds the memory.
2. `hessian`: of which function is it the Jacobian?

- The bar: 4 times as fast as row by row, for a net of six small layers.
- ``torch.func.jacrev``, ``jacfwd``, ``hessian`` and ``torch.autograd.functional`` are ready-made:
  leave them.

Begin with y of two elements: which gradient do you send back for row 0, and for row 1?
Afterwards open ``torch/autograd/__init__.py`` (``grad``) in site-packages, then ``jacobian`` with
``vectorize=True`` in ``torch/autograd/functional.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable


def jacobian(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, chunk: int | None = None
) -> torch.Tensor:
    """Return J of shape ``y.shape + x.shape``: J[i..., j...] is that of y[i...] by x[j...].

    ``y = function(x)`` is called one time, on a leaf of your own: `x` may be a leaf or not, and
    stays as it is. Both have at least one element, and y depends on `x`. J has no graph. No run of
    the engine carries more than `chunk` rows (1 or more; None: all), and there are as few as that
    allows.
    """
    # TODO: the rows of an identity matrix are the gradients to send back, all at once.
    raise NotImplementedError("jacobian")


def hessian(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the second derivatives of a `function` whose result has no dims, and is not linear.

    The shape is ``x.shape + x.shape``. The function is called one time, and the engine runs over it
    twice: for the gradient, then for all rows.
    """
    # TODO: of which function is it the Jacobian?
    raise NotImplementedError("hessian")
