"""Tests of k01_dual: one sum, one product, then a comparison with PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture11.k01_dual import Dual
from katas.lecture11.k01_dual import derivative
from katas.lecture11.k01_dual import tangent
from plugins.kit import unchanged


NUMBERS = st.sampled_from([0.0, 1.0, math.sqrt(2), -math.sqrt(3), math.pi, -1e3, 1e-3])


def test_a_sum() -> None:
    """Add two dual numbers, and a dual number and a constant, which has no ε."""
    x, y = Dual(3.0, 2.0), Dual(10.0, 5.0)
    yours = x + y
    assert yours == Dual(13.0, 7.0), f"(3 + 2 ε) + (10 + 5 ε) is 13 + 7 ε; yours is {yours}"
    yours = 4 + Dual(3.0, 2.0)
    assert yours == Dual(7.0, 2.0), f"4 + (3 + 2 ε) is 7 + 2 ε; yours is {yours}"
    after = (x, y)
    expected = (Dual(3.0, 2.0), Dual(10.0, 5.0))
    assert after == expected, f"x + y changed x or y: now {after}, expected {expected}"


def test_a_product() -> None:
    """Multiplying out gives four products, one of them with ε ε."""
    yours = Dual(3.0, 2.0) * Dual(10.0, 5.0)
    assert yours == Dual(30.0, 35.0), (
        f"(3 + 2 ε) (10 + 5 ε) is 30 + 20 ε + 15 ε + 10 ε ε; yours is {yours}. Drop the term"
        " with ε ε; the rest is ordinary algebra"
    )
    yours = 4 * Dual(3.0, 2.0)
    assert yours == Dual(12.0, 8.0), f"4 (3 + 2 ε) is 12 + 8 ε; yours is {yours}"


def test_derivative() -> None:
    """The derivative of x x x is 3 x x, that of a constant is 0."""
    yours = derivative(lambda x: x * x * x, 5.0)
    assert yours == 75.0, f"expected 3 * 5 * 5 = 75 for x x x at 5; yours {yours}"
    yours = derivative(lambda x: 7.0, 5.0)
    assert yours == 0.0, f"expected 0 for a constant, which never sees your ε; yours {yours}"


def test_one_call() -> None:
    """Your code calls f once: a difference quotient takes two calls, and is not exact."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return x * x

    derivative(f, 3.0)
    assert seen == [Dual(3.0, 1.0)], f"your code calls f with {seen}, expected one call, with 3 + ε"


@given(factors=st.lists(NUMBERS, max_size=6), at=NUMBERS)
@example(factors=[1.0, 2.0, 3.0], at=0.0)
def test_polynomials(factors: list[float], at: float) -> None:
    """A Python loop with constants on the left agrees with PyTorch's reverse mode."""

    def f(x: Any) -> Any:
        y = x * 0.5
        for factor in factors:
            y = factor + x * y
        return y

    leaf = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    f(leaf).backward()
    assert leaf.grad is not None
    yours, theirs = derivative(f, at), leaf.grad.item()
    near = yours == pytest.approx(theirs, rel=1e-12, abs=1e-12)
    assert near, f"Horner's scheme with {factors} at {at}: yours {yours}, PyTorch's {theirs}"


def test_tensors() -> None:
    """`tangent` returns the value and the derivative along v, the Jacobian times v."""
    x = torch.arange(1, 5, dtype=torch.float64).sqrt()
    v = torch.tensor([1.0, 0.0, -2.0, 0.5], dtype=torch.float64)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.flip(0) * x.sin()

    with unchanged(x=x, v=v):
        value, slope = tangent(f, x, v)
    torch.testing.assert_close(value, f(x), msg="first comes f(x); yours is not\n".__add__)
    theirs: Any = torch.autograd.functional.jacobian(f, x)
    says = "then the Jacobian times v; yours is not, and PyTorch's row by row is\n".__add__
    torch.testing.assert_close(slope, theirs @ v, rtol=1e-12, atol=1e-12, msg=says)
    assert not slope.requires_grad, (
        "your derivative has a graph, expected none: forward mode needs none"
    )
