"""Tests of k05_tape: today's autograd is the reference for gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given

from katas.lecture01 import k05_tape as kata
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def compare(program: Callable[..., Any], *values: torch.Tensor, module: Any = kata) -> None:
    """Run a program on Variables and on today's tensors, and compare values and gradients."""
    leaves = [value.clone().requires_grad_() for value in values]
    expected = program(*leaves)
    wanted = torch.autograd.grad(expected.sum(), leaves, allow_unused=True)
    tape = module.Tape()
    variables = [module.Variable(value, tape) for value in values]
    with unchanged(*values):
        result = program(*variables)
        assert isinstance(result, module.Variable), (
            f"the program returned {result!r}, expected a Variable"
        )
        tape.backward(result)
    says = "{}: yours is not today's\n{}".format
    close = {"equal_nan": True, "rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(
        result.data, expected.detach(), msg=lambda text: says("the value", text), **close
    )
    for name, each, grad in zip("xyz", variables, wanted, strict=False):
        if grad is None:
            assert each.grad is None, f"{name} was not used: its grad is {each.grad}, expected None"
            continue
        assert each.grad is not None, f"{name} got no gradient; today's autograd gives {grad}"
        about = f"the gradient of {name}"
        torch.testing.assert_close(
            each.grad, grad, msg=lambda text, about=about: says(about, text), **close
        )


def numbers(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


X, Y = numbers(0.3, -1.7), numbers(2.1, 0.0)


def test_an_entry() -> None:
    """An entry holds the result, its inputs and the rule."""
    tape = kata.Tape()
    x = kata.Variable(X, tape)
    y = x.sin()

    torch.testing.assert_close(y.data, X.sin(), msg="the data of the result\n".__add__)
    assert 1 == len(tape.entries), f"your tape has {len(tape.entries)} entries, expected one"
    result, inputs, rule = tape.entries[0]
    assert result is y, "the entry must hold the very Variable that is returned"
    assert inputs[0] is x, "the entry must hold the inputs themselves: backward writes their .grad"
    assert callable(rule), f"the third item of an entry must be the rule; yours is {rule!r}"


def test_one_operator() -> None:
    """The gradient of a sine."""
    compare(lambda x: x.sin(), X)


def test_a_chain() -> None:
    """The last entry comes first: each result has its full gradient before it passes it on."""
    compare(lambda x: x.sin().sin().sin(), X)


def test_used_twice() -> None:
    """Two gradients arrive; the gradient is their sum."""
    compare(lambda x: x * x, X)
    compare(lambda x: x * x + x, X)


def test_a_gradient_shared_by_two() -> None:
    """The rule of + returns one tensor for both inputs: adding to one in place would spoil both."""
    compare(lambda x, y: (x + y) * x + (x + y) * y, X, Y)
    compare(lambda x, y: x.sin() + (x + y), X, Y)


def test_two_variables_of_one_tensor() -> None:
    """Each Variable has a gradient of its own."""
    compare(lambda x, y: x.sin() + y * y, X, X)


def test_a_gradient_of_zeros() -> None:
    """Zero is a gradient too, and is passed on."""
    compare(lambda x, y: x.sin() * y, X, numbers(0, 0))


def test_an_operator_of_three() -> None:
    """`record` takes any operator, with its rule."""
    tape = kata.Tape()
    x, y, z = (kata.Variable(each, tape) for each in (X, Y, X.cos()))
    result = tape.record(
        torch.addcmul, [x, y, z], lambda grad: (grad, grad * z.data, grad * y.data)
    )
    tape.backward(result)

    says = "addcmul, x + y * z: {}\n{}".format
    cases = {"value": (result.data, X + Y * X.cos()), "gradient of z": (z.grad, Y)}
    for what, (yours, expected) in cases.items():
        torch.testing.assert_close(yours, expected, msg=lambda text, what=what: says(what, text))


def test_the_result_keeps_its_ones() -> None:
    """A gradient that is passed on to several inputs is never written to."""
    tape = kata.Tape()
    x = kata.Variable(X, tape)
    result = x + x
    tape.backward(result)

    says = "the gradient of the result is ones, after backward too\n".__add__
    torch.testing.assert_close(result.grad, torch.ones_like(X), msg=says)


def test_what_was_not_used() -> None:
    """A leaf and a result that nothing depends on."""

    def program(x: Any, y: Any) -> Any:
        y.sin()
        return x.sin() + x

    compare(program, X, Y)


def test_the_last_entry_is_not_the_result() -> None:
    """Backward from the middle: later results get no gradient."""
    tape = kata.Tape()
    x = kata.Variable(X, tape)
    y = x.sin()
    later = y * y
    tape.backward(y)

    assert later.grad is None, f"later has a gradient {later.grad}, but y does not depend on it"
    torch.testing.assert_close(x.grad, X.cos(), msg="the gradient of x\n".__add__)


def test_the_tape_is_not_used_up() -> None:
    """After backward, the tape's entries are still there, in the same order."""
    tape = kata.Tape()
    x = kata.Variable(X, tape)
    result = x * x + x.sin()
    before = list(tape.entries)
    tape.backward(result)

    assert before == tape.entries, (
        f"after backward the tape has {len(tape.entries)} entries, before it {len(before)}:"
        " read the entries, and neither remove nor reorder them"
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_gradients_keep_their_dtype(dtype: torch.dtype) -> None:
    """A sum of two gradients keeps its dtype too; these numbers are exact in each dtype."""
    compare(lambda x: x * x + x, torch.tensor([2.0, -3.0], dtype=dtype))


@pytest.mark.parametrize("start", [1.0, 100.0])
def test_python_decides(start: float) -> None:
    """A loop whose end depends on the numbers: the tape records what actually ran."""

    def program(x: Any) -> Any:
        data = x if isinstance(x, torch.Tensor) else x.data
        while data.abs().sum() < 50:
            x = x + x * x
            data = x if isinstance(x, torch.Tensor) else x.data
        return x.sin()

    compare(program, numbers(start))


@given(x=tensors([torch.float64], max_dims=2))
def test_values_that_bite(x: torch.Tensor) -> None:
    """Infinities, NaN, zeros and empty tensors, in any layout."""
    compare(lambda x: (x * x).sin() * x + x, x)


def test_autograd_is_not_asked() -> None:
    """A kata that builds autograd must not call it."""
    with forbids(kata, "torch.autograd", "torch.func", "torch.Tensor.backward") as fresh:
        compare(lambda x: x * x + x.sin(), X, module=fresh)
