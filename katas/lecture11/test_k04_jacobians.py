"""Tests of k04_jacobians: compared with torch.func, and the cost of each way is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from katas.lecture11 import k04_jacobians as kata
from katas.lecture11.k04_jacobians import basis
from katas.lecture11.k04_jacobians import hessian
from katas.lecture11.k04_jacobians import jacfwd
from katas.lecture11.k04_jacobians import jacobian
from katas.lecture11.k04_jacobians import jacrev
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


DOUBLE = torch.float64
WAYS: dict[str, Callable[..., Any]] = {"jacfwd": jacfwd, "jacrev": jacrev, "jacobian": jacobian}
SHAPES = st.lists(st.integers(1, 3), max_size=2)


def roots(*shape: int, start: int = 2) -> torch.Tensor:
    """Return irrational values."""
    count = torch.Size(shape).numel()
    return torch.arange(start, start + count, dtype=DOUBLE).sqrt().reshape(shape)


def compare(name: str, f: Callable[..., Any], x: torch.Tensor) -> None:
    """Compare J, its shape and dtype with PyTorch's."""
    __tracebackhide__ = True
    with unchanged(x=x):
        yours = WAYS[name](f)(x)
    theirs = getattr(torch.func, "jacrev" if name == "jacobian" else name)(f)(x)
    shapes = (tuple(yours.shape), tuple(theirs.shape))
    assert shapes[0] == shapes[1], f"{name}: your shape is {shapes[0]}, expected {shapes[1]}"
    says = f"{name}: yours is not PyTorch's. J[i..., j...] is that of y[i...] by x[j...]\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-12, atol=1e-12, msg=says)


def test_basis() -> None:
    """There is one tensor for each element, with a single 1 in it."""
    like = torch.tensor([[2.0, 0.0, torch.nan], [7.0, 11.0, torch.inf]], dtype=torch.float64)
    yours = basis(like)
    assert yours.shape == (6, 2, 3), f"yours has shape {tuple(yours.shape)}, expected (6, 2, 3)"
    assert yours.dtype == DOUBLE, (
        f"yours is {yours.dtype}, expected torch.float64, the dtype of `like`"
    )
    assert yours[4].tolist() == [[0, 0, 0], [0, 1, 0]], (
        f"your tensor 4 is {yours[4]}, expected a single 1, at [1, 1]"
    )
    assert yours.sum(0).tolist() == [[1] * 3] * 2, (
        f"your tensors sum to {yours.sum(0)}, expected ones: put each 1 at a different element"
    )
    where = basis(torch.empty(2, device="meta")).device.type
    assert where == "meta", (
        f"`like` is on the device meta, yours is on {where}, expected the same device"
    )


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "jacobian"])
def test_a_matrix(name: str) -> None:
    """The Jacobian of x ↦ A x is A."""
    for rows, columns in ((4, 2), (2, 4)):
        matrix = roots(rows, columns)
        compare(name, lambda x, matrix=matrix: matrix @ x, roots(columns))


@pytest.mark.parametrize("name", WAYS)
@given(inputs=SHAPES, outputs=SHAPES)
def test_any_shape(name: str, inputs: list[int], outputs: list[int]) -> None:
    """Both x and y may have any shape; a tensor without dims has one element."""
    weight = roots(torch.Size(outputs).numel(), torch.Size(inputs).numel())
    compare(name, lambda x: (weight @ x.sin().reshape(-1)).cos().reshape(outputs), roots(*inputs))


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_another_dtype(name: str) -> None:
    """If f computes in float32, a gradient has the dtype of y, a tangent that of x."""
    compare(name, lambda x: x.float().sin(), roots(3))


def test_hessian() -> None:
    """The Hessian of a number has two dims, that of a vector has three."""
    calls: list[int] = []
    functions: tuple[Callable[..., Any], ...] = (
        lambda x: (x[0] * x[1]).sin() * x[2],
        lambda x: x.flip(0) * x.exp(),
    )
    for f in functions:
        calls.clear()

        def counted(x: torch.Tensor, f: Callable[..., Any] = f) -> Any:
            calls.append(1)
            return f(x)

        with unchanged():
            yours = hessian(counted)(roots(3))
        assert len(calls) == 1, f"your code calls f {len(calls)} times, expected once"
        says = "yours is not PyTorch's Hessian\n".__add__
        torch.testing.assert_close(yours, torch.func.hessian(f)(roots(3)), msg=says)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_one_run(name: str) -> None:
    """Function f is called once, and the derivative of its sine, a cosine, runs once for all."""
    calls: list[int] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.sin()

    with watched_operators() as names:
        WAYS[name](f)(roots(7))
    assert len(calls) == 1, f"your code calls f {len(calls)} times, expected 1"
    ran = names.count("aten::cos")
    assert ran == 1, f"your code runs the cosine {ran} times for 7 columns, expected 1: use vmap"


def flops(f: Callable[..., Any], x: torch.Tensor, way: Callable[..., Any]) -> int:
    """Return the FLOPs of a Jacobian's matrix products."""
    with FlopCounterMode(display=False) as counter:
        way(f)(x)
    return int(counter.get_total_flops())


@pytest.mark.parametrize(("inputs", "outputs"), [(2, 96), (96, 2), (1, 3), (3, 1)])
def test_the_cheaper_way(inputs: int, outputs: int) -> None:
    """A tall Jacobian has few columns, a wide one few rows; count elements, not dims."""
    first, second = roots(inputs, 64), roots(64, outputs)

    def f(x: torch.Tensor) -> torch.Tensor:
        return ((x.reshape(1, -1) @ first).sin() @ second)[0]

    x = roots(1, inputs, 1)
    columns, rows = flops(f, x, torch.func.jacfwd), flops(f, x, torch.func.jacrev)
    once = flops(f, x, lambda f: f)
    yours = flops(f, x, jacobian)
    bar = min(columns, rows) + once
    assert yours <= bar, (
        f"{inputs} inputs, {outputs} outputs: yours takes {yours} FLOPs, PyTorch's {columns} by "
        f"columns and {rows} by rows, and one call of f {once}: expected the cheaper way plus one"
        " call of f"
    )


def test_it_nests() -> None:
    """Compute a Jacobian for each row of a batch, and the gradient of a Jacobian."""
    batch = roots(4, 3)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() * x.prod()

    for name, way in WAYS.items():
        theirs = torch.stack([torch.func.jacrev(f)(x) for x in batch])
        says = f"{name} under vmap: yours is not PyTorch's row by row\n".__add__
        torch.testing.assert_close(torch.func.vmap(way(f))(batch), theirs, msg=says)
        yours = torch.func.grad(lambda x, way=way: way(f)(x).square().sum())(batch[0])
        theirs = torch.func.grad(lambda x: torch.func.jacrev(f)(x).square().sum())(batch[0])
        says = f"{name} under grad: yours is not PyTorch's gradient\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)


def test_none_is_ready_made() -> None:
    """Your functions combine transforms, and call no ready-made Jacobian."""
    ready = ("func.jacrev", "func.jacfwd", "func.hessian", "autograd")
    with forbids(kata, *(f"torch.{name}" for name in ready)) as fresh:
        for way in (fresh.jacfwd, fresh.jacrev, fresh.jacobian, fresh.hessian):
            way(lambda x: x.sin())(roots(2))
