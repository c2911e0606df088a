"""Jacobians, by columns and by rows.

For f from 2 to 4096 entries, ``torch.func.jacrev`` pulls 4096 gradients back where ``jacfwd``
pushes 2 tangents forward, for the same matrix. Each is only a combination of two transforms:

               x has 2 entries
                  . .
    y has 4       . .          jvp    pushes a tangent of x forward:   a column of J
    entries       . .          vjp    pulls a gradient of y back:      a row of J
                  . .          vmap   asks for all of them in one run

1. `basis`: the tangents, or gradients, to ask for.
2. `jacfwd` and `jacrev`: functions that return functions, so that they nest.
3. `hessian`: nest two of yours.
4. `jacobian`: compare two counts, and choose the cheaper way.

Begin on paper: f from shape (2,) to (4,). After jvp, what has vmap stacked, and along which dim?
Afterwards compare with ``jacrev`` in ``torch/_functorch/eager_transforms.py``, in site-packages:
what does `chunk_size` limit?
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.func import jvp
from torch.func import vjp
from torch.func import vmap


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


# Maps x to y, tensors with at least one element, perhaps without dims. The functions below call it
# once for each x, and `jacobian` at most twice.
Function = Any


def basis(like: Tensor) -> Tensor:
    """For each element of `like`, return a tensor of its shape and dtype: 1 there, 0 elsewhere.

    Stack these tensors along the first dim.
    """
    # TODO: the rows of an identity matrix.
    raise NotImplementedError("basis")


def jacfwd(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by columns."""
    # TODO: vmap over jvp.
    raise NotImplementedError("jacfwd")


def jacrev(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by rows."""
    # TODO: vmap over the function that vjp returns.
    raise NotImplementedError("jacrev")


def hessian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to H, of shape ``y.shape + x.shape + x.shape``."""
    # TODO: one line.
    raise NotImplementedError("hessian")


def jacobian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, by columns or rows: the fewer, or either on a tie."""
    # TODO: count the elements of x, and those of y.
    raise NotImplementedError("jacobian")
