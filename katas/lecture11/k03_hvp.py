"""Perf: ten Hessian-vector products, with the gradient worked out once.

Conjugate gradients asks for H v again and again, at the same x. H itself is too large to compute,
but H v is a derivative of the gradient g, and there are two ways to compute it:

    forward over reverse     the tangent of g, as x moves along v           jvp of grad
    reverse over reverse     the gradient of g · v                          vjp of grad

Books recommend the first.

1. Write both ways, and measure them in ``python -i katas/lecture11/k03_hvp.py``:

    x = torch.randn(8, 32)
    for way in (forward_over_reverse, reverse_over_reverse):
        print(flops(lambda: way(net, x, x)) / flops(lambda: grad(net)(x)), "gradients")

2. `products`: which part of the work does not depend on v? Do it once.

- The bar: ten products for at most 12 gradients.

Begin with one layer: ``flops(lambda: jvp(layer, (x,), (x,))) / flops(lambda: layer(x))``. Two
products would be enough, but PyTorch 2.13 computes three: the third multiplies x by the tangent of
the weights, which is zeros.
Real life differs: ``torch.func.linearize`` splits the first way in two, but calls f twice; ten
products then cost 16 gradients.
Afterwards read ``vjp`` and ``jvp`` in ``torch/_functorch/eager_transforms.py``, in site-packages.
"""

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
    """Return a layer of 32 units. Given."""
    return torch.tanh(x @ WEIGHT.to(x.dtype))


def net(x: Tensor) -> Tensor:
    """Return the loss of six layers; `x` has shape (n, 32). Given."""
    for _ in range(6):
        x = layer(x)
    return x.square().sum()


def flops(call: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products in a call. Given."""
    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())


def forward_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Return H v, of the same shape as x; f returns a tensor without dims."""
    # TODO: the tangent of the gradient.
    raise NotImplementedError("forward_over_reverse")


def reverse_over_reverse(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Tensor:
    """Return H v too, using only reverse mode."""
    # TODO: the gradient of the gradient.
    raise NotImplementedError("reverse_over_reverse")


def products(f: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that maps v to H v, and may be called many times.

    `f` is called once, here. f may be linear: then H is zeros.
    """
    # TODO: split one of the two ways in two.
    raise NotImplementedError("products")
