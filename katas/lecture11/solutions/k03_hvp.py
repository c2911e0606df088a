"""Perf: ten Hessian-vector products, with the gradient worked out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import grad
from torch.func import jvp
from torch.func import vjp
from torch.utils.flop_counter import FlopCounterMode


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


WEIGHT = torch.linspace(-1, 1, 1024).sin().reshape(32, 32) / 4


def layer(x: Tensor) -> Tensor:
    """Return a layer of 32 units."""
    return torch.tanh(x @ WEIGHT.to(x.dtype))


def net(x: Tensor) -> Tensor:
    """Return the loss of six layers; `x` has shape (n, 32)."""
    for _ in range(6):
        x = layer(x)
    return x.square().sum()


def flops(call: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products in a call."""
    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())


def forward_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Return H v, of the same shape as x; f returns a tensor without dims."""
    return jvp(grad(f), (x,), (v,))[1]  # type: ignore[no-any-return, unused-ignore]


def reverse_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Return H v too, using only reverse mode."""
    (product,) = vjp(grad(f), x)[1](v)
    return product  # type: ignore[no-any-return, unused-ignore]


def products(f: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that maps v to H v, and may be called many times.

    `f` is called once, here. f may be linear: then H is zeros.
    """
    pull = vjp(grad(f), x)[1]

    def product(v: Tensor) -> Tensor:
        (found,) = pull(v)
        return found  # type: ignore[no-any-return, unused-ignore]

    return product
