"""Perf: ten Hessian-vector products, with the gradient worked out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.autograd.forward_ad as forward_mode
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
    """Return how many floating-point operations the matrix products of a call take."""
    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())


def forward_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Make a dual leaf, and unpack the gradient."""
    with forward_mode.dual_level():
        dual = forward_mode.make_dual(x.detach().requires_grad_(), v)
        (gradient,) = torch.autograd.grad(f(dual), dual)
        tangent = forward_mode.unpack_dual(gradient).tangent
        return torch.zeros_like(x) if tangent is None else tangent.detach()


def reverse_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Take one product."""
    return products(f, x)(v)


def products(f: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[Tensor], Tensor]:
    """Keep the graph of the gradient."""
    leaf = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)

    def product(v: Tensor) -> Tensor:
        if not gradient.requires_grad:
            return torch.zeros_like(v)
        return torch.autograd.grad(
            gradient, leaf, v, retain_graph=True, allow_unused=True, materialize_grads=True
        )[0]

    return product
