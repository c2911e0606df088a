"""Differentiate a function without a graph, by two rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch.autograd.forward_ad as forward_mode


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
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other: Dual | float) -> Dual:
        """Return the product of this number and another, dual or plain."""
        other = lift(other)
        slopes = other.slope * self.value, other.value * self.slope
        return Dual(other.value * self.value, sum(slopes))

    __radd__, __rmul__ = __add__, __mul__


def lift(x: Dual | float) -> Dual:
    """Return a constant as the dual number that it is."""
    return x if isinstance(x, Dual) else Dual(x)


def derivative(f: Callable[[Any], Any], x: float) -> float:
    """Return f'(x), by one call of f, which may return a constant."""
    y = f(Dual(x, 1))
    return y.slope if isinstance(y, Dual) else 0.0


def tangent(f: Callable[[Tensor], Tensor], x: Tensor, v: Tensor) -> Any:
    """Return a pair: f(x), and the derivative of f at x in the direction v."""
    with forward_mode.dual_level():
        y = f(forward_mode.make_dual(x, v))
        return forward_mode.unpack_dual(y)
