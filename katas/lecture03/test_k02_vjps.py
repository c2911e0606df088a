"""Tests of k02_vjps: autograd itself, finite differences and second derivatives are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k02_vjps as kata
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Wrapped(torch.autograd.Function):
    """An operator whose backward is one of the formulas of the kata."""

    @staticmethod
    def forward(ctx, forward, vjp, *inputs):  # noqa: ANN001, ANN002, ANN205
        """Compute the result, and save it with the inputs."""
        result = forward(*inputs)
        ctx.vjp = vjp
        ctx.save_for_backward(result, *inputs)
        return result

    @staticmethod
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Call the formula with the gradient, the result and the inputs."""
        return None, None, *ctx.vjp(grad, *ctx.saved_tensors)


class Largest(TorchDispatchMode):
    """Records the number of elements of the largest tensor that an operator returns."""

    size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the size and run the operator."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.size = max(self.size, result.numel())
        return result


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
    """Compare with autograd's answer for the same gradient of the result."""
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
    """Draw a tensor away from 0, float64 or, on devices without it, float32."""
    dtype = torch.float32 if torch.device(device).type == "mps" else torch.float64
    x = torch.randn(shape, dtype=dtype, device=device)
    return x + x.sign() * 0.5


@st.composite
def broadcast_pairs(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two shapes that broadcast."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=3))

    def part() -> tuple[int, ...]:
        kept = sizes[draw(st.integers(0, len(sizes))) :]
        return tuple(draw(st.sampled_from([size, 1])) for size in kept)

    return part(), part()


def permuted(data: st.DataObject, dims: int, device: str) -> torch.Tensor:
    """Draw a tensor of that many dims, in any memory order."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=dims, max_size=dims))
    return randn(*sizes, device=device).permute(data.draw(st.permutations(range(dims))))


def test_exp_uses_its_result(device: str) -> None:
    """The slope of exp is exp, which forward has already computed."""
    x = randn(3, device=device)

    compare(torch.exp, lambda grad, result, x: (kata.exp_vjp(grad, result),), x)
    # No exponential is negative: only a product with the result gives this.
    answer = kata.exp_vjp(torch.ones(2), torch.tensor([5.0, -2.0])).tolist()
    assert [5.0, -2.0] == answer, (
        f"result [5, -2], grad 1: you return {answer}; multiply by the result, which is the slope"
    )


def test_exp_can_be_differentiated_twice() -> None:
    """The formula of exp uses only differentiable operations."""
    check(torch.exp, lambda grad, result, x: (kata.exp_vjp(grad, result),), randn(4))


@given(shapes=broadcast_pairs())
def test_mul_sums_over_what_was_repeated(
    device: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The formula of mul is right for any two shapes that broadcast, empty ones too."""
    a, b = (randn(*shape, device=device) for shape in shapes)

    compare(torch.mul, lambda grad, result, a, b: kata.mul_vjp(grad, a, b), a, b)


def test_mul_can_be_differentiated_twice() -> None:
    """The second derivatives of mul agree with finite differences."""
    check(torch.mul, lambda grad, result, a, b: kata.mul_vjp(grad, a, b), randn(2, 1), randn(3))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_couples_a_whole_dim(device: str, dim: int) -> None:
    """Raising one input lowers every other result along the dim."""
    compare(
        lambda x: x.softmax(dim),
        lambda grad, result, x: (kata.softmax_vjp(grad, result, dim),),
        randn(2, 3, 2, device=device),
    )


def test_softmax_builds_no_jacobian() -> None:
    """A row of 500 has 250 000 slopes, but no tensor may be larger than the row."""
    grad, result = randn(500), randn(500).softmax(0)
    with Largest() as log:
        kata.softmax_vjp(grad, result, 0)

    assert log.size <= 500, f"your code creates a tensor of {log.size} elements for a row of 500"


def test_softmax_can_be_differentiated_twice() -> None:
    """The gradient is computed from the saved result."""
    check(
        lambda x: x.softmax(1),
        lambda grad, result, x: (kata.softmax_vjp(grad, result, 1),),
        randn(2, 3),
    )


@given(data=st.data())
def test_matmul_of_any_two_matrices(device: str, data: st.DataObject) -> None:
    """Only one arrangement fits the shapes; operands may be transposed or empty."""
    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    a = randn(k, n, device=device).T if data.draw(st.booleans()) else randn(n, k, device=device)

    compare(
        torch.matmul,
        lambda grad, result, a, b: kata.matmul_vjp(grad, a, b),
        a,
        randn(k, m, device=device),
    )


def test_matmul_can_be_differentiated_twice() -> None:
    """The second derivatives of matmul agree with finite differences."""
    check(
        torch.matmul,
        lambda grad, result, a, b: kata.matmul_vjp(grad, a, b),
        randn(2, 3),
        randn(3, 2),
    )


@given(data=st.data(), keepdim=st.booleans())
def test_sum_repeats_its_gradient(device: str, data: st.DataObject, *, keepdim: bool) -> None:
    """The formula of sum is right for any dims, in any order, positive or negative."""
    x = permuted(data, 3, device)
    chosen = data.draw(st.lists(st.integers(0, 2), min_size=1, unique=True))
    dims = [dim - 3 if data.draw(st.booleans()) else dim for dim in chosen]

    compare(
        lambda x: x.sum(dims, keepdim),
        lambda grad, result, x: (kata.sum_vjp(grad, x.shape, dims, keepdim=keepdim),),
        x,
    )


def test_sum_does_not_copy_its_gradient(device: str) -> None:
    """A repeated element is a stride of 0."""
    grad = randn(2, 3, device=device).T
    for keepdim in (False, True):
        arrives = grad.unsqueeze(0) if keepdim else grad
        answer = kata.sum_vjp(arrives, (4, 3, 2), [0], keepdim=keepdim)

        assert grad.data_ptr() == answer.data_ptr(), (
            f"{keepdim=}: you return a copy; expand the gradient, whatever its strides"
        )
        assert (0, 1, 3) == answer.stride(), (
            f"{keepdim=}: yours has strides {answer.stride()}, expected (0, 1, 3)"
        )


def test_sum_can_be_differentiated_twice() -> None:
    """The second derivatives of sum agree with finite differences."""
    check(
        lambda x: x.sum((0, 2)),
        lambda grad, result, x: (kata.sum_vjp(grad, x.shape, (0, 2), keepdim=False),),
        randn(2, 2, 2),
    )


# A sample of PyTorch's own tests becomes an operator, its formula and inputs, or None if the sample
# is out of scope.
SAMPLES: dict[str, Callable[[Any], tuple[Any, ...] | None]] = {
    "exp": lambda s: (torch.exp, lambda grad, result, x: (kata.exp_vjp(grad, result),), s.input),
    "mul": lambda s: (torch.mul, lambda g, r, a, b: kata.mul_vjp(g, a, b), s.input, *s.args),
    "softmax": lambda s: softmax_sample(s.input, *s.args),
    "mm": lambda s: (torch.mm, lambda g, r, a, b: kata.matmul_vjp(g, a, b), s.input, *s.args),
    "sum": lambda s: sum_sample(s.input, **s.kwargs),
}


def softmax_sample(x: torch.Tensor, dim: int) -> tuple[Any, ...] | None:
    """Return a sample of softmax over a dim that exists."""
    if x.dim() == 0:
        return None

    def vjp(grad: torch.Tensor, result: torch.Tensor, _x: torch.Tensor) -> tuple[torch.Tensor]:
        return (kata.softmax_vjp(grad, result, dim),)

    return lambda x: x.softmax(dim), vjp, x


def sum_sample(x: torch.Tensor, dim: Any = (), *, keepdim: bool = False) -> tuple[Any, ...] | None:
    """Return a sample of sum over one dim or several."""
    dims = [dim] if isinstance(dim, int) else dim
    if x.dim() == 0 or not dims:
        return None

    def vjp(grad: torch.Tensor, _result: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (kata.sum_vjp(grad, x.shape, dims, keepdim=keepdim),)

    return lambda x: x.sum(dims, keepdim), vjp, x


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
    "mul": lambda kata, x: kata.mul_vjp(x, x, x),
    "exp": lambda kata, x: kata.exp_vjp(x, x),
    "softmax": lambda kata, x: kata.softmax_vjp(x, x, 0),
    "matmul": lambda kata, x: kata.matmul_vjp(x, x, x),
    "sum": lambda kata, x: kata.sum_vjp(x[:1], (2, 2), [0], keepdim=True),
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
