"""Tests of k13_inplace_bugs: one test per bug, then tests of what all six must preserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.autograd import gradgradcheck

from katas.lecture03.k13_inplace_bugs import add_bias
from katas.lecture03.k13_inplace_bugs import gated
from katas.lecture03.k13_inplace_bugs import limited_tanh
from katas.lecture03.k13_inplace_bugs import players
from katas.lecture03.k13_inplace_bugs import softplus
from katas.lecture03.k13_inplace_bugs import unroll
from plugins.kit import tensors
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def leaf(*sizes: int) -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.randn(sizes, dtype=torch.float64, requires_grad=True)


def check(mended: Callable[..., torch.Tensor], plain: Callable[..., torch.Tensor], *inputs) -> None:  # noqa: ANN002
    """Compare values and gradients of two functions, on the leaves and on clones of them."""
    wanted = plain(*inputs)
    weights = torch.linspace(0.5, 2, wanted.numel(), dtype=wanted.dtype, device=wanted.device)
    weights = weights.reshape(wanted.shape)
    expected = torch.autograd.grad((wanted * weights).sum(), inputs)
    # Once with leaves, once with tensors that have a history.
    for these in (inputs, [value.clone() for value in inputs]):
        try:
            with unchanged(*these):
                result = mended(*these)
            with unchanged(*these, result=result):
                actual = torch.autograd.grad((result * weights).sum(), inputs)
        except RuntimeError as error:
            raise AssertionError(f"autograd raises: {str(error)[:300]}") from error
        close = {"rtol": 1e-12, "atol": 1e-12}
        says = "the value: yours is not what the docstring says\n".__add__
        torch.testing.assert_close(result, wanted, **close, msg=says)
        for place, (one, other, value) in enumerate(zip(actual, expected, inputs, strict=True)):
            wrong = ~one.isclose(other, **close, equal_nan=True)
            where, yours, theirs = (
                each.detach()[wrong][:6].round(decimals=4).tolist() for each in (value, one, other)
            )
            says = (
                f"silently wrong: your gradient of input {place} differs from PyTorch's where "
                f"the input is {where}: yours {yours}, expected {theirs}\n"
            )
            torch.testing.assert_close(one, other, msg=says.__add__, **close)


@pytest.mark.given
def test_a_write_through_data_goes_unnoticed() -> None:
    """The version counter catches an in-place write, but not one through .data."""
    x = torch.tensor([1.0], requires_grad=True)
    y = x.exp()
    y.data.add_(1)
    (wrong,) = torch.autograd.grad(y.sum(), x)

    assert wrong.item() != pytest.approx(torch.e), "exp's backward multiplies by its result"
    y = x.exp()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y.sum(), x)


def test_softplus_keeps_what_exp_saved(device: str) -> None:
    """The gradient of softplus is the sigmoid; exp's backward needs exp's result as it was."""
    x = leaf(3, 2).to(device)

    check(softplus, lambda x: (1 + x.exp()).log(), x)


def test_gated_keeps_its_input(device: str) -> None:
    """An in-place relu writes to a tensor that the product needs and the caller owns."""
    check(gated, lambda a, b: a * b + a.relu(), leaf(5).to(device), leaf(5).to(device))


def test_limited_tanh_tells_autograd_of_the_limit(device: str) -> None:
    """Where the value is clipped the gradient is 0, elsewhere it is that of tanh."""
    x = torch.linspace(-3, 3, 13, dtype=torch.float64, device=device, requires_grad=True)

    check(lambda x: limited_tanh(x, 0.7), lambda x: x.tanh().clamp(-0.7, 0.7), x)


def test_add_bias_has_room_for_every_row(device: str) -> None:
    """All rows of an expanded bias are the same row in memory."""
    check(add_bias, lambda rows, bias: rows + bias, leaf(3, 4).to(device), leaf(4).to(device))


@pytest.mark.parametrize("steps", [1, 3])
def test_unroll_logs_without_cutting(device: str, steps: int) -> None:
    """The gradient reaches x through every step, whatever is logged on the way."""

    def plain(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = (x @ weight).tanh()
        return x + 0 * weight.sum()

    x, weight = leaf(2, 3).to(device), leaf(3, 3).to(device)
    check(lambda x, w: unroll(x, w, steps)[0] + 0 * w.sum(), plain, x, weight)
    with unchanged(x=x, weight=weight):
        last, log = unroll(x, weight, steps)
    assert steps == len(log), f"your log has {len(log)} entries, expected {steps}"
    assert not any(entry.requires_grad for entry in log), "your log requires grad: it must not"
    for count, entry in enumerate(log, 1):
        says = f"entry {count} of your log is not h after {count} steps\n".__add__
        torch.testing.assert_close(entry, unroll(x, weight, count)[0].detach(), msg=says)
    assert last.requires_grad, "your last h is cut off from its history"
    assert [] == unroll(x, weight, 0)[1], (
        "without steps the log must be empty, but yours has an entry"
    )
    expected = torch.autograd.grad(last.sum(), x, retain_graph=True)
    for entry in log:
        entry.zero_()
    try:
        actual = torch.autograd.grad(last.sum(), x)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), f"yours: {error}"  # noqa: PT017
    else:
        says = (
            "after a write to your log the gradient is silently wrong: autograd must notice the "
            "write\n"
        )
        torch.testing.assert_close(actual, expected, msg=says.__add__)


def test_players_move_together(device: str) -> None:
    """Compute both gradients before the step; then move both weights."""
    first, second = leaf(3, 4).to(device).detach(), leaf(4, 2).to(device).detach()
    x = leaf(5, 3).to(device).detach()
    old = [value.clone().requires_grad_() for value in (first, second)]
    out = x @ old[0] @ old[1]
    (pull,) = torch.autograd.grad((out - 1).square().mean(), old[0], retain_graph=True)
    (push,) = torch.autograd.grad(out.square().mean(), old[1])
    first.requires_grad_()
    second.requires_grad_()
    places = [first.data_ptr(), second.data_ptr()]
    graph = x @ first @ second
    moved = ("value", "storage", "version")
    try:
        # Only the weights move: no .grad, no history, no changed requires_grad.
        with unchanged(x=x), unchanged(first=first, second=second, but=moved):
            players(first, second, x, 0.25)
    except RuntimeError as error:
        raise AssertionError(f"autograd refuses: {str(error).splitlines()[0]}") from error

    for name, weight, before, move in [
        ("first", first, old[0], pull),
        ("second", second, old[1], push),
    ]:
        step, expected = weight.detach() - before.detach(), -0.25 * move
        assert step.any() or not expected.any(), f"{name}: your code has not moved it"
        yours, theirs = (each.round(decimals=3).tolist() for each in (step, expected))
        says = (
            f"{name}: each element moves by -rate times its gradient before the step. Yours moved"
            f" by {yours}, expected {theirs}\n"
        )
        torch.testing.assert_close(step, expected, msg=says.__add__)
    assert first.is_leaf, "first is no longer a leaf: do not record the update"
    assert second.is_leaf, "second is no longer a leaf: do not record the update"
    assert [first.data_ptr(), second.data_ptr()] == places, "the weights must move in place"
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        # An earlier graph has saved the weights: autograd must notice every write to them.
        torch.autograd.grad(graph.sum(), first)


FUNCTIONS = {
    "softplus": softplus,
    "gated": lambda x: gated(x, x * 2 + 1),
    "limited_tanh": lambda x: limited_tanh(x, 0.6),
    "add_bias": lambda x: add_bias(x, x[0]),
    "unroll": lambda x: unroll(x, x.mT @ x, 2)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_differentiable_twice(device: str, name: str) -> None:
    """First and second gradients agree with finite differences."""
    x = torch.tensor([[0.3, -0.9], [1.1, 0.2]], dtype=torch.float64, device=device)
    x.requires_grad_()
    try:
        gradcheck(FUNCTIONS[name], x)
        gradgradcheck(FUNCTIONS[name], x)
    except RuntimeError as error:
        raise AssertionError(f"yours (analytical) disagrees with differences\n{error}") from error


@given(x=tensors([torch.float64, torch.float32, torch.float16, torch.bfloat16], max_dims=3))
def test_values_that_bite(x: torch.Tensor) -> None:
    """Infinities, NaN, zeros and denormals give what the formulas give, in any layout."""
    plain = {
        "gated": (lambda x: gated(x, x), lambda x: x * x + x.relu()),
        "limited_tanh": (lambda x: limited_tanh(x, 0.5), lambda x: x.tanh().clamp(-0.5, 0.5)),
    }
    if x.dim() == 2:
        plain["add_bias"] = (lambda x: add_bias(x, x.new_ones(x.shape[1])), lambda x: x + 1)
    for name, (function, formula) in plain.items():
        with unchanged(x=x):
            result = function(x)
        about = f"for {x.dtype}, strides {x.stride()}, offset {x.storage_offset()}: {x.tolist()}"
        says = f"your {name} is not the formula {about}\n".__add__
        torch.testing.assert_close(result, formula(x), equal_nan=True, msg=says)
    with unchanged(x=x):
        result = softplus(x).double()
    exact = (x.double().exp() + 1).log()
    # Where exp overflows, formulas may differ; half precision rounds three times.
    good = exact.isfinite() & (exact > 1) & (exact < 10)
    close = 1e-5 if x.dtype.itemsize >= torch.float32.itemsize else 0.05
    says = f"your softplus, for {x.dtype}: {x.tolist()}\n".__add__
    torch.testing.assert_close(result[good], exact[good], rtol=close, atol=0, msg=says)


@given(order=st.permutations([0, 1]), step=st.integers(1, 3), rows=st.integers(0, 3))
def test_views_come_in_and_stay_as_they_are(order: list[int], step: int, rows: int) -> None:
    """A fix must not depend on layout or dtype: arguments may be transposed, stepped or empty."""
    base = torch.linspace(-2, 2, 36).reshape(6, 6)
    before = base.clone()
    view = base.permute(order)[:rows, ::step].requires_grad_()
    for dtype in (torch.float32, torch.float16):
        x = view.to(dtype)
        for function in (softplus, lambda x: gated(x, x), lambda x: limited_tanh(x, 0.5)):
            result = function(x)
            assert x.shape == result.shape, f"yours has shape {result.shape}, expected {x.shape}"
            assert dtype == result.dtype, f"yours has dtype {result.dtype}, expected {dtype}"
            try:
                result.float().sum().backward()
            except RuntimeError as error:
                raise AssertionError(f"autograd raises: {error}") from error
    assert torch.equal(base, before), "your function changed its argument"
