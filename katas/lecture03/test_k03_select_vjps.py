"""Tests of k03_select_vjps: autograd, finite differences and second derivatives are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd.gradcheck import GradcheckError

from katas.lecture03 import k03_select_vjps as kata
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Wrapped(torch.autograd.Function):
    """An operator whose backward is one of the formulas of the kata."""

    @staticmethod
    def forward(ctx, forward, vjp, *inputs):  # noqa: ANN001, ANN002, ANN205
        """Compute the result and save it with the inputs."""
        result = forward(*inputs)
        ctx.vjp = vjp
        ctx.save_for_backward(result, *inputs)
        return result

    @staticmethod
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Call the formula with the gradient, the result and the inputs."""
        return None, None, *ctx.vjp(grad, *ctx.saved_tensors)


def check(forward: Callable, vjp: Callable, *inputs: torch.Tensor) -> None:
    """Compare first and second derivatives with finite differences, in float64."""
    leaves = tuple(x.detach().requires_grad_() for x in inputs)

    def wrapped(*xs: torch.Tensor) -> torch.Tensor:
        return Wrapped.apply(forward, vjp, *xs)

    judges = {"": torch.autograd.gradcheck, " of your gradient": torch.autograd.gradgradcheck}
    for what, judge in judges.items():
        try:
            judge(wrapped, leaves)
        except GradcheckError as error:
            raise AssertionError(
                f"differences{what} (expected) disagree with yours (analytical)\n{error}"
            ) from None


def compare(forward: Callable, vjp: Callable, *inputs: torch.Tensor, about: str = "") -> None:
    """Compare with what autograd gives for the same gradient of the result."""
    leaves = tuple(x.detach().requires_grad_() for x in inputs)
    result = forward(*leaves)
    grad = randn(*result.shape, device=result.device)
    expected = torch.autograd.grad(result, leaves, grad)
    answer = vjp(grad, result.detach(), *inputs)
    assert len(expected) == len(answer), f"{len(answer)} gradients, expected {len(expected)}"
    for place, (theirs, yours, x) in enumerate(zip(expected, answer, inputs, strict=True)):
        where = f"the gradient by input {place} {about}"
        assert x.shape == yours.shape, (
            f"{where}: yours has shape {tuple(yours.shape)}, expected that of the input,"
            f" {tuple(x.shape)}, strides {x.stride()}"
        )
        says = f"{where}: yours is not PyTorch's, for shape {tuple(x.shape)}\n".__add__
        torch.testing.assert_close(yours, theirs, msg=says)


def randn(*shape: int, device: str | torch.device = "cpu") -> torch.Tensor:
    """Draw a float64 tensor, float32 where there is no float64, away from 0."""
    dtype = torch.float32 if torch.device(device).type == "mps" else torch.float64
    x = torch.randn(shape, dtype=dtype, device=device)
    return x + x.sign() * 0.5


@st.composite
def broadcast_pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two shapes that broadcast, to any result."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=3))

    def part() -> tuple[int, ...]:
        kept = sizes[draw(st.integers(0, len(sizes))) :]
        return tuple(draw(st.sampled_from([size, 1])) for size in kept)

    return part(), part()


def permuted(data: st.DataObject, dims: int, device: str) -> torch.Tensor:
    """Draw a tensor of that many dims, in any memory order."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=dims, max_size=dims))
    return randn(*sizes, device=device).permute(data.draw(st.permutations(range(dims))))


@given(shapes=broadcast_pairs())
def test_div_sums_over_what_was_repeated(
    device: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The quotient rule holds for all pairs of shapes that broadcast."""
    a, b = (randn(*shape, device=device) for shape in shapes)

    compare(torch.div, lambda grad, result, a, b: kata.div_vjp(grad, a, b), a, b)


def test_div_can_be_differentiated_twice() -> None:
    """The second derivatives of div agree with finite differences."""
    check(torch.div, lambda grad, result, a, b: kata.div_vjp(grad, a, b), randn(2, 1), randn(3))


def test_where_gives_each_side_what_it_was_chosen_for(device: str) -> None:
    """The condition broadcasts like the two sides."""
    condition = torch.tensor([[True], [False]], device=device)
    a, b = randn(3, device=device), randn(2, 1, device=device)

    compare(
        lambda a, b: torch.where(condition, a, b),
        lambda grad, result, a, b: kata.where_vjp(grad, condition, a.shape, b.shape),
        a,
        b,
    )


def test_where_lets_no_infinity_through() -> None:
    """The masked side gets 0, although infinity times False is NaN; a chosen NaN stays NaN."""
    grad = torch.tensor([torch.inf, torch.inf, torch.nan, torch.nan])
    by_a, by_b = kata.where_vjp(grad, torch.tensor([True, False, True, False]), (4,), (4,))

    # NaN equals nothing, but its text is equal.
    for name, wanted, yours in [
        ("a", [torch.inf, 0.0, torch.nan, 0.0], by_a.tolist()),
        ("b", [0.0, torch.inf, 0.0, torch.nan], by_b.tolist()),
    ]:
        assert str(wanted) == str(yours), (
            f"the gradient of {name}: yours {yours}, expected {wanted}"
        )


def test_where_can_be_differentiated_twice() -> None:
    """The second derivatives of where agree with finite differences."""
    condition = torch.tensor([True, False, True])
    check(
        lambda a, b: torch.where(condition, a, b),
        lambda grad, result, a, b: kata.where_vjp(grad, condition, a.shape, b.shape),
        randn(2, 3),
        randn(3),
    )


@given(data=st.data(), dim=st.integers(-2, 1))
def test_amax_gives_to_the_largest(device: str, data: st.DataObject, dim: int) -> None:
    """The maximum along any dim gets the gradient; the other elements get 0."""
    compare(
        lambda x: x.amax(dim, keepdim=True),
        lambda grad, result, x: (kata.amax_vjp(grad, x, result, dim),),
        permuted(data, 2, device),
    )


def test_amax_shares_among_ties(device: str) -> None:
    """Three largest elements get a third each; the next smaller number does not tie."""
    grad = randn(3, 1, device=device)
    x = torch.tensor([[2.0, 1.0, 2.0, 2.0], [0.0, 0.0, 3.0, 1.0], [1.0] * 4]).to(grad)
    x[2, 1:] = torch.nextafter(x[2, 1:], x[2, 1:] * 0)
    answer = kata.amax_vjp(grad, x, x.amax(1, keepdim=True), 1)

    winners = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0], [1, 0, 0, 0]], device=device)
    expected = grad * winners / winners.sum(1, keepdim=True)
    close = {"rtol": 1e-12, "atol": 0} if grad.dtype is torch.float64 else {}
    says = (
        f"winners {winners.tolist()}: yours differs from amax. It shares evenly, "
        "unlike max(dim), which gives everything to one index\n"
    )
    torch.testing.assert_close(answer, expected, **close, msg=says.__add__)


def test_amax_can_be_differentiated_twice() -> None:
    """The second derivatives of amax agree with finite differences, where nothing ties."""
    check(
        lambda x: x.amax(0, keepdim=True),
        lambda grad, result, x: (kata.amax_vjp(grad, x, result, 0),),
        torch.tensor([[1.0, 5.0], [3.0, 2.0]], dtype=torch.float64),
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_select_adds_up_repeated_reads(device: str, dim: int) -> None:
    """An element read three times gets the sum of three gradients, one not read gets 0."""
    index = torch.tensor([2, 0, 2, 2], device=device)

    compare(
        lambda x: x.index_select(dim, index),
        lambda grad, result, x: (kata.index_select_vjp(grad, x.shape, dim, index),),
        randn(3, 4, device=device),
    )


def test_index_select_can_be_differentiated_twice() -> None:
    """The second derivatives of index_select agree with finite differences."""
    index = torch.tensor([1, 1, 0])
    check(
        lambda x: x.index_select(0, index),
        lambda grad, result, x: (kata.index_select_vjp(grad, x.shape, 0, index),),
        randn(3, 2),
    )


@pytest.mark.parametrize("dim", [0, 1, -2])
def test_cat_is_cut_where_it_was_joined(device: str, dim: int) -> None:
    """Each tensor gets its own part, even a tensor of size 0."""
    shapes = [(size, 2) if dim % 2 == 0 else (2, size) for size in (1, 3, 0, 2)]
    tensors = [randn(*shape, device=device) for shape in shapes]

    compare(
        lambda *xs: torch.cat(xs, dim),
        lambda grad, result, *xs: kata.cat_vjp(grad, [x.shape[dim] for x in xs], dim),
        *tensors,
    )


def test_cat_does_not_copy_its_gradient(device: str) -> None:
    """The parts are views."""
    grad = randn(2, 5, device=device)
    sizes = [2, 3]
    parts = kata.cat_vjp(grad, sizes, 1)
    first, second = parts

    assert [2, 3] == sizes, f"your code changed the caller's sizes to {sizes}"
    assert isinstance(parts, tuple), f"expected a tuple of views, yours is a {type(parts)}"
    assert grad.data_ptr() == first.data_ptr(), "your first part is a copy: narrow the gradient"
    assert grad[:, 2:].data_ptr() == second.data_ptr(), "your second part is a copy"


def test_cat_can_be_differentiated_twice() -> None:
    """The second derivatives of cat agree with finite differences."""
    check(
        lambda *xs: torch.cat(xs, 1),
        lambda grad, result, *xs: kata.cat_vjp(grad, [x.shape[1] for x in xs], 1),
        randn(2, 1),
        randn(2, 2),
    )


# A sample of PyTorch's own tests becomes an operator, its formula and inputs, or None if the sample
# is out of scope.
SAMPLES: dict[str, Callable[[Any], tuple[Any, ...] | None]] = {
    "div": lambda s: (torch.div, lambda g, r, a, b: kata.div_vjp(g, a, b), s.input, *s.args),
    "where": lambda s: (
        lambda a, b: torch.where(s.args[0], a, b),
        lambda grad, result, a, b: kata.where_vjp(grad, s.args[0], a.shape, b.shape),
        s.input,
        s.args[1],
    ),
    "amax": lambda s: amax_sample(s.input, **s.kwargs),
    "index_select": lambda s: index_select_sample(s.input, *s.args),
    "cat": lambda s: cat_sample(s.input, *s.args, **s.kwargs),
}


def amax_sample(x: torch.Tensor, dim: Any = (), *, keepdim: bool = False) -> tuple[Any, ...] | None:
    """Return a sample of amax over one dim that is kept."""
    if x.dim() == 0 or not isinstance(dim, int) or not keepdim:
        return None

    def vjp(grad: torch.Tensor, result: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (kata.amax_vjp(grad, x, result, dim),)

    return lambda x: x.amax(dim, keepdim=True), vjp, x


def index_select_sample(x: torch.Tensor, dim: int, index: torch.Tensor) -> tuple[Any, ...] | None:
    """Return a sample of index_select along a dim that exists."""
    if x.dim() == 0:
        return None

    def vjp(grad: torch.Tensor, _result: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (kata.index_select_vjp(grad, x.shape, dim, index),)

    return lambda x: x.index_select(dim, index), vjp, x


def cat_sample(tensors: list[torch.Tensor], dim: int = 0) -> tuple[Any, ...] | None:
    """Return a sample of cat of tensors that all have the dim; PyTorch also accepts (0,)."""
    if len({x.dim() for x in tensors}) > 1:
        return None

    def vjp(grad: torch.Tensor, _: torch.Tensor, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return kata.cat_vjp(grad, [x.shape[dim] for x in xs], dim)

    return lambda *xs: torch.cat(xs, dim), vjp, *tensors


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_pytorchs_own_tests(name: str) -> None:
    """Try the inputs of PyTorch's own tests: no elements, one tensor, no dims."""
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415 - slow

    op = next(op for op in op_db if op.name == name)
    samples = [(each, SAMPLES[name](each)) for each in op.sample_inputs("cpu", torch.float64)]

    assert any(case for _, case in samples), f"found no samples of {name} in PyTorch's tests"
    for sample, case in samples:
        if case:
            compare(*case, about=f"in a sample of {name}: {sample.summary()}")


ENGINE = (
    *("autograd.grad", "autograd.backward", "autograd.functional", "autograd.forward_ad"),
    *("autograd.Variable", "autograd.graph._engine_run_backward", "func", "Tensor.backward"),
    "Tensor.grad_fn",
)
CALLS: dict[str, Callable[[Any, torch.Tensor], object]] = {
    "div": lambda kata, x: kata.div_vjp(x, x, x),
    "where": lambda kata, x: kata.where_vjp(x, x > 0, x.shape, x.shape),
    "amax": lambda kata, x: kata.amax_vjp(x[:1], x, x.amax(0, keepdim=True), 0),
    "index_select": lambda kata, x: kata.index_select_vjp(x, (2, 2), 0, torch.tensor([0, 1])),
    "cat": lambda kata, x: kata.cat_vjp(x, (1, 1), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_autograd_is_not_asked(name: str) -> None:
    """Call neither PyTorch's engine nor an operator that is already a backward formula."""
    every = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - it has no other name
    formulas = {each.partition(".")[0] for each in every if "backward" in each}
    x = randn(2, 2)
    names = (f"torch.{each}" for each in ENGINE)
    with forbids(kata, *names, operators=formulas) as fresh, unchanged(x=x):
        CALLS[name](fresh, x)
