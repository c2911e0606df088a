"""Tests of k07_gradcheck: ``torch.autograd`` and known derivatives are the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture03 import k07_gradcheck as kata
from katas.lecture03.k07_gradcheck import GradcheckError
from katas.lecture03.k07_gradcheck import analytical_jacobian
from katas.lecture03.k07_gradcheck import gradcheck
from katas.lecture03.k07_gradcheck import numerical_jacobian
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


def vector(*values: complex) -> torch.Tensor:
    """Return a float64 or complex128 tensor."""
    dtype = torch.complex128 if any(isinstance(v, complex) for v in values) else torch.float64
    return torch.tensor(values, dtype=dtype)


class Wrong(torch.autograd.Function):
    """A square whose backward is wrong by a given factor."""

    @staticmethod
    def forward(ctx, x, factor):  # noqa: ANN001, ANN205
        """Return the square."""
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Return the gradient times the factor."""
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.factor, None


class Restless(torch.autograd.Function):
    """An identity whose backward differs slightly each time."""

    calls = 0

    @staticmethod
    def forward(ctx, x):  # noqa: ANN001, ANN205
        """Return a copy."""
        return x.clone()

    @staticmethod
    def backward(ctx, grad):  # noqa: ANN001, ANN205
        """Return the gradient plus a little more than the last time."""
        Restless.calls += 1
        return grad * (1 + 1e-9 * Restless.calls)


def close(expected: object, answer: torch.Tensor, about: str = "") -> None:
    """Compare with a matrix, as precisely as differences in float64 allow."""
    wanted = torch.as_tensor(expected, dtype=torch.float64)
    says = f"yours {answer.tolist()}\nexpected {wanted.tolist()} {about}\n".__add__
    torch.testing.assert_close(answer, wanted, atol=1e-5, rtol=1e-5, msg=says)


def refused(match: str, fn: Callable, x: torch.Tensor, **settings: float) -> None:
    """Check that your gradcheck raises this error."""
    outcome = "passes it"
    try:
        gradcheck(fn, x, **settings)
    except GradcheckError as error:
        outcome = f"raises {error}"
    assert match in outcome, f"at {x.tolist()} with {settings}: yours {outcome}; expected: {match}"


@pytest.mark.step(1, "differences")
def test_differences_are_slopes() -> None:
    """Each result of a square depends on its own input."""
    close([[2.0, 0.0], [0.0, 6.0]], numerical_jacobian(torch.square, vector(1.0, 3.0)))


@pytest.mark.step(1, "differences")
def test_rows_are_results_and_columns_are_inputs() -> None:
    """Two results of three inputs make a (2, 3) matrix."""
    weight = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)

    close(weight, numerical_jacobian(lambda x: weight @ x, vector(1.0, 2.0, 3.0)))


@pytest.mark.step(1, "differences")
def test_differences_are_central() -> None:
    """One-sided differences would be wrong by eps / 2 times the second derivative."""
    jacobian = numerical_jacobian(torch.square, vector(1.0), eps=0.5)

    assert [[2.0]] == jacobian.tolist(), (
        f"yours {jacobian.tolist()}, expected (1.5 ** 2 - 0.5 ** 2) / (2 * 0.5), exactly 2"
    )


@pytest.mark.step(1, "differences")
def test_two_calls_for_each_number() -> None:
    """Both calls use the given eps, starting from the original `x`."""
    seen: list[list[float]] = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.tolist())
        return x.sum()

    numerical_jacobian(fn, vector(1.0, 2.0), eps=0.25)

    expected = [[0.75, 2.0], [1.0, 1.75], [1.0, 2.25], [1.25, 2.0]]
    assert expected == sorted(seen), f"x = [1, 2], eps 0.25: fn saw {seen}, expected {expected}"


@pytest.mark.step(1, "differences")
def test_the_input_is_the_same_afterwards() -> None:
    """Restore `x` exactly: adding eps and subtracting it again would leave a rounding error."""
    x = vector(0.1, 0.2, 1e9)
    before = x.clone()
    seen = []
    numerical_jacobian(lambda x: seen.append(x.clone()) or x.sum(), x)

    assert torch.equal(before, x), f"x was {before.tolist()}; after your call it is {x.tolist()}"
    firsts = [call[0].item() for call in seen[2:]]
    assert all(0.1 == first for first in firsts), (
        f"x[0] is 0.1, but while other elements were nudged, fn saw {firsts} as x[0]: restore it "
        "exactly"
    )


@pytest.mark.step(1, "differences")
def test_a_result_may_be_a_view() -> None:
    """The next nudge changes such a result, unless you read it first."""
    close(torch.eye(2), numerical_jacobian(lambda x: x.view(-1), vector(1.0, 2.0)))


@pytest.mark.step(1, "differences")
def test_differences_have_no_history() -> None:
    """The Jacobian has no history, neither from `x` nor from a weight."""
    weight = vector(1.0, 2.0).requires_grad_()
    x = vector(3.0, 4.0).requires_grad_()

    yours = numerical_jacobian(lambda x: x * weight, x)
    assert not yours.requires_grad, "your Jacobian has a history, but differences are plain numbers"


@pytest.mark.step(1, "differences")
def test_one_number_at_a_time_is_nudged() -> None:
    """Each call sees `x` with one number changed; all others are restored bit for bit."""
    # Some are much smaller than eps: then (x - eps) + eps is a different number.
    x = torch.arange(1, 41, dtype=torch.float64).sqrt() * torch.tensor([1.0, 1e-9]).repeat(20)
    seen: list[torch.Tensor] = []

    def function(y: torch.Tensor) -> torch.Tensor:
        seen.append(y.detach().clone())
        return y.sin()

    with unchanged(x=x):
        numerical_jacobian(function, x)
    others = [int((y != x).sum()) for y in seen]

    assert others == [1] * 80, (
        f"numbers that differ from x in each call: expected 1, yours {others}"
    )


@pytest.mark.step(2, "backwards")
def test_one_backward_makes_one_row() -> None:
    """There is one backward for each number of the result, and one call of the function."""
    calls: list[None] = []
    grads: list[list[float]] = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        calls.append(None)
        result = x.prod().expand(3) * vector(1.0, 2.0, 3.0)
        result.register_hook(lambda grad: grads.append(grad.tolist()))
        return result

    close([[2.0, 1.0], [4.0, 2.0], [6.0, 3.0]], analytical_jacobian(fn, vector(1.0, 2.0)))
    assert 1 == len(calls), f"your code calls fn {len(calls)} times, expected 1 call"
    assert torch.eye(3).tolist() == grads, (
        f"your code sends back {grads}, expected a single 1 each time, at 0, 1, 2"
    )


@pytest.mark.step(2, "backwards")
def test_nothing_depends_on_nothing() -> None:
    """A constant has no history, and another leaf is not the input: the Jacobian is zero."""
    x = vector(1.0, 2.0)
    other = vector(3.0).requires_grad_()

    for name, fn in {
        "a constant": lambda x: vector(5.0),
        "of another": lambda x: other * 2,
    }.items():
        with unchanged(x=x, other=other):
            yours = analytical_jacobian(fn, x).tolist()
        assert [[0.0, 0.0]] == yours, f"{name}: yours {yours}, expected one row of zeros"


@pytest.mark.step(2, "backwards")
def test_grad_is_left_alone() -> None:
    """A check leaves no trace in any leaf, not even in those that only `fn` knows."""
    x = vector(1.0, 2.0).requires_grad_()
    weight = vector(3.0, 4.0).requires_grad_()
    with unchanged(weight=weight):
        analytical_jacobian(lambda x: x.exp() * weight, x)

    assert x.grad is None, f"your code left x.grad = {x.grad}"
    assert x.requires_grad, "your code switched x.requires_grad off"
    y = vector(1.0)
    analytical_jacobian(torch.exp, y)
    assert not y.requires_grad, "your code left requires_grad set on y: use a leaf of your own"


@pytest.mark.step(2, "backwards")
@given(data=st.data())
def test_any_shape_and_strides(data: st.DataObject) -> None:
    """Rows and columns follow ``flatten``, whatever the order in memory."""
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=3))
    order = data.draw(st.permutations(range(len(sizes))))
    x = torch.randn(sizes, dtype=torch.float64).permute(order)
    shapes: list[torch.Size] = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        shapes.append(x.shape)
        return torch.stack([x.sin(), x.cumsum(-1) if x.dim() else x]).transpose(0, -1)

    expected = torch.autograd.functional.jacobian(fn, x).reshape(2 * x.numel(), x.numel())
    close(expected, numerical_jacobian(fn, x))
    close(expected, analytical_jacobian(fn, x))
    assert {x.shape} == set(shapes), f"fn saw {set(shapes)}, expected the shape of x, {x.shape}"


@pytest.mark.step(3, "complex numbers")
def test_a_complex_number_is_two_real_ones() -> None:
    """Multiplying by 2 + 3j turns and stretches the plane."""
    expected = [[2.0, -3.0], [3.0, 2.0]]

    close(expected, numerical_jacobian(lambda z: z * (2 + 3j), vector(1 + 1j)))


@pytest.mark.step(3, "complex numbers")
def test_conjugation_and_parts_have_derivatives() -> None:
    """Neither function is holomorphic, but both are differentiable as functions of two reals."""
    z = vector(1 + 2j)

    close([[1.0, 0.0], [0.0, -1.0]], numerical_jacobian(torch.conj, z))
    close([[2.0, 4.0]], numerical_jacobian(lambda z: (z * z.conj()).real, z))
    for jacobian in (numerical_jacobian, analytical_jacobian):
        # The input is real; the result gives two rows.
        close([[1.0], [2.0]], jacobian(lambda x: torch.complex(x, x * 2), vector(1.0)))


@pytest.mark.step(3, "complex numbers")
@pytest.mark.parametrize(
    "fn",
    [torch.square, torch.conj, torch.abs, torch.angle, lambda z: z.conj() * z, torch.view_as_real],
    ids=["square", "conj", "abs", "angle", "product", "view_as_real"],
)
def test_complex_backwards_agree_with_differences(fn: Callable) -> None:
    """PyTorch's convention for complex gradients is dL/dx + i dL/dy."""
    z = vector(1 + 2j, -0.5 + 0.3j)

    close(numerical_jacobian(fn, z), analytical_jacobian(fn, z))


@pytest.mark.step(4, "compare")
def test_a_right_backward_passes() -> None:
    """A correct backward passes for real and complex inputs."""
    for fn, x in [
        (lambda x: Wrong.apply(x, 1.0), vector(1.0, -2.0)),
        (torch.exp, vector(0.3 + 1j)),
    ]:
        yours = gradcheck(fn, x)
        assert yours is True, (
            f"the backward is right at {x.tolist()}, but your code returns {yours!r}"
        )


@pytest.mark.step(4, "compare")
def test_a_wrong_backward_is_found() -> None:
    """The backward may be wrong by one percent, or only in the imaginary part."""
    refused("mismatch", lambda x: Wrong.apply(x, 1.01), vector(1.0, 2.0))
    refused("mismatch", lambda x: Wrong.apply(x, 1.0), vector(1 + 1j))
    # Each position has its own tolerance, and NaN is never within it.
    slopes = vector(1000.0, 1.0)
    refused("mismatch", lambda x: Wrong.apply(x, 2.0) * slopes + x * slopes, vector(0.0, 0.1))
    refused("mismatch", torch.sqrt, vector(0.0))


@pytest.mark.step(4, "compare")
@pytest.mark.parametrize(("atol", "rtol"), [(0.0, 0.02), (0.3, 0.0)])
def test_tolerances_are_those_that_were_asked_for(atol: float, rtol: float) -> None:
    """The slope at 10 is 20, and the backward returns 20.2."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return Wrong.apply(x, 1.01)

    yours = gradcheck(fn, vector(10.0), atol=atol, rtol=rtol)
    assert yours is True, (
        f"an error of 0.2 is within atol {atol}, rtol {rtol}: your code returns {yours!r}"
    )
    refused("mismatch", fn, vector(10.0), atol=atol / 4, rtol=rtol / 4)
    # A difference equal to the bound is allowed: here both are exactly 2.
    exact = gradcheck(lambda x: x * 2, vector(1.0), eps=0.25, atol=0.0, rtol=0.0)
    assert exact is True, (
        f"without a difference, a tolerance of 0 suffices: your code returns {exact!r}"
    )


@pytest.mark.step(4, "compare")
def test_the_tolerance_is_relative_to_the_differences() -> None:
    """The tolerance is not relative to the backward being checked, which may be far too large."""
    refused("mismatch", lambda x: Wrong.apply(x, 10.0), vector(1.0), rtol=0.95)


@pytest.mark.step(4, "compare")
def test_the_nudge_is_the_one_that_was_asked_for() -> None:
    """A huge eps gives a different slope."""
    refused("mismatch", torch.exp, vector(1.0), eps=0.5)


@pytest.mark.step(4, "compare")
def test_a_restless_backward_is_found() -> None:
    """A backward that changes ever so little is found; float atomics on a GPU are an example."""
    refused("not deterministic", Restless.apply, vector(1.0, 2.0))
    both = vector(1.0, 2.0)
    refused("not deterministic", lambda x: Restless.apply(Wrong.apply(x, 2.0)), both)


@pytest.mark.given
def test_single_precision_is_refused() -> None:
    """Check this first: a difference of 1e-6 is lost in float32."""
    for dtype in (torch.float32, torch.complex64):
        with pytest.raises(ValueError, match=r"."):
            gradcheck(Restless.apply, torch.ones(1, dtype=dtype))


@pytest.mark.step(4, "compare")
def test_torch_does_not_do_it() -> None:
    """Differences run no backward, and torch's own gradcheck is not called."""
    checks = ("autograd.gradcheck", "autograd.functional", "func", "autograd.forward_ad")
    names = [f"torch.{name}" for name in checks]
    with forbids(kata, *names) as fresh:
        fresh.gradcheck(torch.square, vector(1.0))
    inputs = vector(1.0)
    with watched_operators() as ran, unchanged(inputs=inputs):
        close([[2.0]], numerical_jacobian(torch.square, inputs))

    backwards = [name for name in ran if "Backward" in name or "backward" in name]
    assert not backwards, f"differences run no backward, but your code ran {backwards}"
