"""Differentiate a function without a graph, by two rules.

Take a number ε so small that ε ε = 0, and call f with x + ε. The factor of ε in the result is the
derivative: exact, in one call, and without keeping a graph.

    (3 + ε) (3 + ε)  =  9 + 6 ε            the derivative of x x at 3 is 6

1. `Dual.__add__` and `Dual.__mul__`.
2. `derivative`: with which number do you call f?
3. `tangent`: ``torch.func.jvp`` does the same for tensors.

Begin on paper: (a + b ε) (c + d ε).
Afterwards open ``torch/autograd/forward_ad.py`` (``make_dual``), in site-packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass
class Dual:
    """The number value + slope ε."""

    value: float
    slope: float = 0.0

    def __add__(self, other: Dual | float) -> Dual:
        """Return the sum of this number and another, dual or plain."""
        other = lift(other)
        # TODO: add like terms.
        raise NotImplementedError("Dual.__add__")

    def __mul__(self, other: Dual | float) -> Dual:
        """Return the product of this number and another, dual or plain."""
        other = lift(other)
        # TODO: multiply out, and drop the term with ε ε.
        raise NotImplementedError("Dual.__mul__")

    __radd__, __rmul__ = __add__, __mul__


def lift(x: Dual | float) -> Dual:
    """Return a constant as a dual number. Given."""
    return x if isinstance(x, Dual) else Dual(x)


def derivative(f: Callable[[Any], Any], x: float) -> float:
    """Return f'(x), with one call of f, which may return a constant."""
    # TODO: one line.
    raise NotImplementedError("derivative")


def tangent(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Any:
    """Return a pair: f(x), and the derivative of f at x in the direction v."""
    # TODO: one line.
    raise NotImplementedError("tangent")
