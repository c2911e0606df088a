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


# Maps x to y, tensors with at least one element, perhaps without dims. The functions below call it
# once for each x, and `jacobian` at most twice.
Function = Any


def basis(like: Tensor) -> Tensor:
    """For each element of `like`, return a tensor of its shape and dtype: 1 there, 0 elsewhere.

    Stack these tensors along the first dim.
    """
    eye = torch.eye(like.numel(), dtype=like.dtype, device=like.device)
    return eye.reshape(-1, *like.shape)


def jacfwd(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by columns."""

    def at(x: Tensor) -> Tensor:
        columns: Tensor = vmap(lambda t: jvp(f, (x,), (t,))[1], out_dims=-1)(basis(x))
        return columns.reshape(columns.shape[:-1] + x.shape)

    return at


def jacrev(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, of shape ``y.shape + x.shape``, by rows."""

    def at(x: Tensor) -> Tensor:
        y, pull = vjp(f, x)  # type: ignore[misc, unused-ignore]
        (rows,) = vmap(pull)(basis(y))
        return rows.reshape(y.shape + x.shape)  # type: ignore[no-any-return, unused-ignore]

    return at


def hessian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to H, of shape ``y.shape + x.shape + x.shape``."""
    return jacfwd(jacrev(f))


def jacobian(f: Function) -> Callable[[Tensor], Tensor]:
    """Return a function that maps x to J, by columns or rows: the fewer, or either on a tie."""

    def at(x: Tensor) -> Tensor:
        way = jacrev if f(x).numel() < x.numel() else jacfwd
        return way(f)(x)

    return at
