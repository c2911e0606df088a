"""Jacobians, by columns and by rows."""

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


# From x to y, tensors of at least one element, perhaps without dims. The functions below call it
# once for each x, and `jacobian` at most twice.
Function = Any


def basis(like: Tensor) -> Tensor:
    """For each element of `like`, return a tensor of its shape and dtype: 1 there, 0 elsewhere.

    They are stacked along the first dim.
    """
    return torch.diag_embed(torch.ones_like(like).reshape(-1)).reshape(-1, *like.shape)


def jacfwd(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by columns."""

    def at(x: Tensor) -> Tensor:
        columns: Tensor = vmap(lambda t: jvp(f, (x,), (t,))[1])(basis(x))
        return columns.movedim(0, -1).unflatten(-1, x.shape) if x.dim() else columns[0]

    return at


def jacrev(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by rows."""

    def at(x: Tensor) -> Tensor:
        y, pull = vjp(f, x)  # type: ignore[misc, unused-ignore]
        rows: Tensor = vmap(lambda t: pull(t)[0])(basis(y))
        return rows.unflatten(0, y.shape) if y.dim() else rows[0]

    return at


def hessian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to H, of shape ``y.shape + x.shape + x.shape``."""
    return jacrev(jacrev(f))


def jacobian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return the function from x to J, by columns or rows, whichever are fewer; either on a tie."""

    def at(x: Tensor) -> Tensor:
        y, pull = vjp(f, x)  # type: ignore[misc, unused-ignore]
        if y.numel() > x.numel():
            return jacfwd(f)(x)
        (rows,) = vmap(pull)(basis(y))
        return rows.reshape(y.shape + x.shape)  # type: ignore[no-any-return, unused-ignore]

    return at
