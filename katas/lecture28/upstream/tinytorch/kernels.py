"""Kernels: those of CPU take and return lists of floats, those of Meta take and return sizes."""

from __future__ import annotations

import math


def add_cpu(self: list[float], other: list[float]) -> list[float]:
    """Add element by element."""
    return [a + b for a, b in zip(self, other, strict=True)]


def add_meta(self: int, other: int) -> int:
    """Return the size of the sum."""
    return self


def neg_cpu(self: list[float]) -> list[float]:
    """Change the sign of each element."""
    return [-x for x in self]


def neg_meta(self: int) -> int:
    """Return the size of the negative."""
    return self


def mul_cpu(self: list[float], other: list[float]) -> list[float]:
    """Multiply element by element."""
    return [a * b for a, b in zip(self, other, strict=True)]


def mul_meta(self: int, other: int) -> int:
    """Return the size of the product."""
    return self


def relu_cpu(self: list[float]) -> list[float]:
    """Replace what is negative by zero."""
    return [x if x > 0 else 0.0 for x in self]


def relu_meta(self: int) -> int:
    """Return the size of the result."""
    return self


def exp_cpu(self: list[float]) -> list[float]:
    """Raise e to the power of each element."""
    return [math.exp(x) for x in self]


def exp_meta(self: int) -> int:
    """Return the size of the result."""
    return self
