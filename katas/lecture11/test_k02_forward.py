"""Tests of k02_forward: compared with torch.func.jvp, for each operator and for all together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given

from katas.lecture11 import k02_forward as kata
from katas.lecture11.k02_forward import NAMES
from katas.lecture11.k02_forward import Dual
from katas.lecture11.k02_forward import jvp
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


DOUBLE = torch.float64
CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sin": lambda x, y: torch.sin(x),
    "exp": lambda x, y: torch.exp(x),
    "tanh": lambda x, y: torch.tanh(x),
    "matmul": lambda x, y: x @ y,
    "sum": lambda x, y: torch.sum(x, dim=0),
    "maximum": torch.maximum,
    "softmax": lambda x, y: torch.softmax(x, dim=0),
}
# torch.func.jvp rejects an expanded primal, in which one element appears several times.
LAYOUTS = ("contiguous", "permuted", "offset", "stepped")
REUSED = ("exp", "tanh", "softmax")
# Operators with a different name in derivatives.yaml.
ENTRIES = {"matmul": "mm", "softmax": "_softmax"}


def roots(*shape: int, start: int = 2) -> torch.Tensor:
    """Return irrational values of both signs."""
    count = torch.Size(shape).numel()
    signs = torch.tensor([1.0, -1.0, -1.0], dtype=DOUBLE).repeat(count)[:count]
    return (torch.arange(start, start + count, dtype=DOUBLE).sqrt() * signs / 2).reshape(shape)


def compare(
    f: Callable[..., Any], primals: Any, tangents: Any, why: str = "", run: Any = None
) -> None:
    """Compare value and tangent with PyTorch's."""
    __tracebackhide__ = True
    with unchanged(primals=primals, tangents=tangents):
        yours = (run or jvp)(f, primals, tangents)
    theirs = torch.func.jvp(f, tuple(primals), tuple(tangents))
    for what, mine, right in zip(("value", "tangent"), yours, theirs, strict=True):
        says = f"the {what}: yours is not PyTorch's. {why}\n".__add__
        torch.testing.assert_close(mine, right, rtol=1e-12, atol=1e-12, equal_nan=True, msg=says)


@pytest.mark.parametrize("name", NAMES)
def test_an_operator(name: str) -> None:
    """Both arguments change, with tangents that are unrelated to the values."""
    x, y, s, t = (roots(3, 3, start=start) for start in (2, 12, 31, 47))
    entry = ENTRIES.get(name, name)
    compare(CALLS[name], [x, y], [s, t], f"{entry} in derivatives.yaml has it.")


def test_a_constant_result() -> None:
    """If the result depends on no primal, the tangent is zeros."""
    compare(lambda x: torch.ones(2, dtype=DOUBLE), [roots(3)], [roots(3)], "Nothing moves it.")


@pytest.mark.parametrize("name", ["add", "mul", "div", "maximum"])
def test_broadcasting(name: str) -> None:
    """With a row and a column, or a plain number, the tangent has the result's shape."""
    row, column = roots(1, 3), roots(2, 1, start=8)
    compare(CALLS[name], [row, column], [row.exp(), column.exp()])
    if name != "maximum":
        compare(lambda x: CALLS[name](x, 3), [row], [row.exp()], "3 does not move.")
    if name in ("add", "mul"):
        compare(lambda x: CALLS[name](3, x), [row], [row.exp()], "3 does not move.")


@pytest.mark.parametrize("name", ["sum", "softmax"])
def test_another_dim(name: str) -> None:
    """Options are passed by keyword, one or several."""
    x, t = roots(2, 3, 4), roots(2, 3, 4, start=30)
    f: Callable[..., Any] = getattr(torch, name)
    for dim in (1, -1):
        compare(lambda x, dim=dim: f(x, dim=dim), [x], [t], f"dim={dim}")
    if name == "sum":
        compare(lambda x: torch.sum(x, dim=1, keepdim=True), [x], [t], "keepdim=True")
        compare(torch.sum, [x], [t], "without dim")


def test_shapes_of_matmul() -> None:
    """Multiply a matrix by a vector, and batches of matrices by one matrix."""
    for left, right in (((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((4,), (4,))):
        x, y = roots(*left), roots(*right, start=40)
        compare(torch.matmul, [x, y], [x.exp(), y.exp()], f"{left} @ {right}: mind the order.")


def test_a_tie() -> None:
    """A tie, as of ``x`` and ``0 * x`` at 0, gives half of each tangent; near values do not."""
    x = torch.tensor([0.0, 2.0, -1.0, 1.0], dtype=DOUBLE)
    y = torch.tensor([0.0, 2.0, 5.0, 1.0 + 1e-12], dtype=DOUBLE)
    compare(torch.maximum, [x, y], [roots(4), roots(4, start=20)], "The first two are ties.")


@given(
    x=tensors([DOUBLE], shape=(3, 4), layouts=LAYOUTS),
    t=tensors([DOUBLE], shape=(3, 4), special=(), layouts=LAYOUTS),
)
def test_any_value(x: torch.Tensor, t: torch.Tensor) -> None:
    """Infinities and NaN among the primals give PyTorch's result."""
    for name in ("sin", "exp", "tanh", "sum", "softmax"):
        compare(CALLS[name], [x, x], [t, t], name)


@given(
    x=tensors([DOUBLE], shape=(3, 4), special=(), layouts=LAYOUTS),
    t=tensors([DOUBLE], shape=(3, 4), special=(), layouts=LAYOUTS),
)
def test_a_net(x: torch.Tensor, t: torch.Tensor) -> None:
    """All ten operators run one after the other; weights are constants."""
    weight = roots(4, 4)

    def f(x: Any) -> Any:
        y = torch.tanh(x @ weight) / 3
        z = torch.softmax(torch.maximum(y, torch.sin(x)) * y, dim=-1)
        return torch.sum(torch.exp(z + y), dim=0)

    compare(f, [x], [t])


def test_no_transform_is_called() -> None:
    """Your rules do the work, and the tangent of plain tensors has no graph."""
    with forbids(kata, "torch.func", "torch.autograd", "torch.Tensor.backward") as fresh:
        _, tangent = fresh.jvp(lambda x: torch.exp(x) * x, [roots(3)], [roots(3)])
    assert tangent.grad_fn is None, f"your tangent has a graph: {tangent.grad_fn}"


@pytest.mark.parametrize("name", REUSED)
def test_the_result_is_used_again(name: str) -> None:
    """A second exp would be a second launch, as slow as the first."""
    x, t = roots(3), roots(3, start=20)
    with watched_operators() as names:
        jvp(CALLS[name], [x, x], [t, t])
    ran = [each for each in names if each in ("aten::exp", "aten::tanh", "aten::softmax")]
    assert ran == [f"aten::{name}"], (
        f"your code runs {ran}, expected {name} once: use `result` in its rule"
    )
    options: Any = {"dim": 0} if name == "softmax" else {}
    result = getattr(torch, name)(x, **options)
    unknown = Dual(torch.full_like(x, torch.nan), t)
    yours = kata.RULES[name](result, unknown, **options)
    theirs = torch.func.jvp(lambda x: getattr(torch, name)(x, **options), (x,), (t,))[1]
    says = f"{name}: yours needs the primal, here NaN: `result` and the tangent suffice\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-12, atol=1e-12, msg=says)


def test_a_tangent_is_a_function_too() -> None:
    """PyTorch's reverse mode and vmap work on your tangent, since operators compute it."""
    x, t = roots(5), roots(5, start=11)

    def slope(x: torch.Tensor) -> torch.Tensor:
        return jvp(lambda x: torch.sum(torch.exp(x * x) / x), [x], [t])[1]

    yours = torch.func.grad(slope)(x)
    theirs = torch.func.hessian(lambda x: torch.sum(torch.exp(x * x) / x))(x) @ t
    says = "the gradient of your tangent is not PyTorch's Hessian times t\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-10, atol=1e-10, msg=says)
    columns = torch.func.vmap(lambda t: jvp(lambda x: torch.softmax(x, dim=0), [x], [t])[1])(
        torch.eye(5, dtype=DOUBLE)
    )
    theirs = torch.func.jacfwd(lambda x: torch.softmax(x, dim=0))(x)
    says = "under vmap, over a basis: yours is not PyTorch's Jacobian\n".__add__
    torch.testing.assert_close(columns.T, theirs, msg=says)


@pytest.mark.given
def test_a_missing_rule_says_its_name() -> None:
    """The error names the missing rule."""
    with pytest.raises(NotImplementedError, match="no rule for cos"):
        torch.cos(Dual(roots(2), roots(2)))  # type: ignore[arg-type, unused-ignore]
