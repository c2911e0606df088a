"""Tests of k03_hvp: products are compared with the full Hessian, and multiplications counted."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from torch.func import grad
from torch.func import hessian

from katas.lecture11 import k03_hvp as kata
from katas.lecture11.k03_hvp import flops
from katas.lecture11.k03_hvp import forward_over_reverse
from katas.lecture11.k03_hvp import net
from katas.lecture11.k03_hvp import products
from katas.lecture11.k03_hvp import reverse_over_reverse
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


DOUBLE = torch.float64
# Gradients allowed for ten products, which take at least twenty if computed one by one.
BAR = 12
WAYS: dict[str, Callable[..., torch.Tensor]] = {
    "forward_over_reverse": forward_over_reverse,
    "reverse_over_reverse": reverse_over_reverse,
    "products": lambda f, x, v: products(f, x)(v),
}


class Square(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The square, which records when it is differentiated in forward mode.

    Its jvp is ten times too large, so that forward mode gives a result different from backward's.
    """

    generate_vmap_rule = False
    tangents = 0

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        """Return x x."""
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep x for both modes."""
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        """Return 2 x times the gradient."""
        (x,) = ctx.saved_tensors
        return 2 * x * gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        """Return ten times 2 x times the tangent."""
        Square.tangents += 1
        (x,) = ctx.saved_tensors
        return 20 * x * tangent


def roots(*shape: int, start: int = 2) -> torch.Tensor:
    """Return irrational values."""
    count = torch.Size(shape).numel()
    return torch.arange(start, start + count, dtype=DOUBLE).sqrt().sin().reshape(shape)


def compare(name: str, f: Callable[..., Any], x: torch.Tensor, v: torch.Tensor) -> None:
    """Compare H v with PyTorch's full Hessian times v."""
    __tracebackhide__ = True
    with unchanged(x=x, v=v):
        yours = WAYS[name](f, x, v)
    theirs = (hessian(f)(x).reshape(x.numel(), x.numel()) @ v.reshape(-1)).reshape(x.shape)
    says = f"{name}: yours is not PyTorch's Hessian times v\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-10, atol=1e-10, msg=says)
    assert not yours.requires_grad, f"{name}: your product has a graph, expected none"


@pytest.mark.given
def test_flops(capsys: pytest.CaptureFixture[str]) -> None:
    """There are six products of (8, 32) and (32, 32), with one multiply and one add each."""
    found = flops(lambda: net(roots(8, 32)))
    assert found == 6 * 2 * 8 * 32 * 32, f"PyTorch's counter finds {found} in six layers"
    assert capsys.readouterr().out == "", "the counter prints a table"


@pytest.mark.parametrize("name", WAYS)
def test_a_vector(name: str) -> None:
    """The Hessian of this polynomial is not diagonal."""
    compare(name, lambda x: x[0] ** 2 * x[1] * x[2].sin(), roots(3), roots(3, start=7))


@pytest.mark.parametrize("name", WAYS)
@given(
    x=tensors([DOUBLE], shape=(2, 3), special=(), layouts=("contiguous", "permuted", "offset")),
    v=tensors([DOUBLE], shape=(2, 3), layouts=("contiguous", "permuted", "offset"), special=(0.0,)),
)
def test_any_matrix(name: str, x: torch.Tensor, v: torch.Tensor) -> None:
    """H has four dims, and H v has the two of x."""
    compare(name, lambda x: (x.sin() @ x.cos().T).tanh().sum(), x.sin(), v.sin())


@pytest.mark.parametrize("name", WAYS)
def test_a_linear_function(name: str) -> None:
    """If the gradient does not depend on x, H is zeros, and there is no error."""
    compare(name, lambda x: (3 * x).sum(), roots(4), roots(4, start=9))


@pytest.mark.parametrize("name", WAYS)
def test_x_may_have_a_graph(name: str) -> None:
    """The tensor x may be a parameter, or computed from one."""
    leaf = roots(3).requires_grad_()
    for x in (leaf, leaf * 2):
        with unchanged(x=x, leaf=leaf):
            yours = WAYS[name](lambda x: x.exp().prod(), x, roots(3)).detach()
        theirs = hessian(lambda x: x.exp().prod())(x.detach()) @ roots(3)
        says = f"{name}: yours is not PyTorch's Hessian times v\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)


@pytest.mark.parametrize("name", WAYS)
def test_which_mode_runs(name: str) -> None:
    """Only forward mode calls the jvp of an autograd.Function."""
    before = Square.tangents
    apply: Any = Square.apply
    yours = WAYS[name](lambda x: apply(x).sum(), roots(3), roots(3))
    calls = Square.tangents - before
    if name == "forward_over_reverse":
        assert calls, "your function never calls the jvp of f's operator, as forward mode would"
    elif name == "reverse_over_reverse":
        assert not calls, f"your function calls the jvp of f's operator {calls} times, expected 0"
    says = (
        f"{name}: yours differentiates the jvp of an operator of f, here a wrong one; expected the "
        "derivative of its backward, which makes the gradient\n"
    )
    torch.testing.assert_close(yours, 2 * roots(3), msg=says.__add__)


def test_many_products() -> None:
    """Products may be computed in any order; f is called once, before the first v."""
    calls: list[int] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.sin().prod()

    x, vs = roots(4), [roots(4, start=n) for n in (3, 30, 3)]
    product = products(f, x)
    assert len(calls) == 1, (
        f"before the first v, `products` called f {len(calls)} times, expected 1"
    )
    results: list[torch.Tensor] = []
    for v in vs:
        with unchanged(x=x, v=v, earlier=results):
            results.append(product(v))
    assert len(calls) == 1, (
        f"after three products f was called {len(calls)} times, expected 1: f does not depend on v"
    )
    matrix = hessian(f)(x)
    for v, yours in zip(vs, results, strict=True):
        says = "one of three products: yours is not PyTorch's\n".__add__
        torch.testing.assert_close(yours, matrix @ v, msg=says)
    vs[1].mul_(3)
    says = "v has changed in place, as conjugate gradients does: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(product(vs[1]), matrix @ vs[1], msg=says)


def test_two_points() -> None:
    """Products at two points are independent of each other."""
    (x, y), v = (roots(3), roots(3, start=50)), roots(3, start=9)
    at_x, at_y = products(torch.prod, x), products(torch.prod, y)
    for where, product in ((y, at_y), (x, at_x)):
        says = "products at two points: yours mixes them up\n".__add__
        theirs = hessian(torch.prod)(where) @ v
        torch.testing.assert_close(product(v), theirs, msg=says)


def test_the_bar() -> None:
    """The cost of ten products is measured in gradients, by counting FLOPs."""
    x = roots(8, 32)
    vs = [roots(8, 32, start=n) for n in range(2, 12)]

    def ten() -> None:
        product = products(net, x)
        for v in vs:
            product(v)

    one = flops(lambda: grad(net)(x))
    yours = flops(ten) / one
    naive = flops(lambda: [reverse_over_reverse(net, x, v) for v in vs]) / one
    print(f"in gradients: yours {yours:.1f}, bar {BAR}, one by one {naive:.1f}")  # noqa: T201
    assert yours <= BAR, (
        f"your ten products cost {yours:.1f} gradients, expected at most {BAR}; one by one they "
        f"cost {naive:.1f}. Compute the gradient once, and send each v back through its graph"
    )


def test_no_hessian_is_made() -> None:
    """A Hessian has n n elements; no function that computes one is called."""
    ready = ("func.hessian", "func.jacrev", "func.jacfwd", "autograd.functional")
    with forbids(kata, *(f"torch.{name}" for name in ready)) as fresh:
        for name in ("forward_over_reverse", "reverse_over_reverse"):
            getattr(fresh, name)(torch.prod, roots(3), roots(3))
        fresh.products(torch.prod, roots(3))(roots(3))
