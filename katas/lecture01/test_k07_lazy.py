"""Tests of k07_lazy: eager mode gives the values, the compiler its list of programs."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given

from katas.lecture01 import k07_lazy as kata
from katas.lecture01.k07_lazy import Compiler
from katas.lecture01.k07_lazy import Lazy
from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


def numbers(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


A, B = numbers(0.3, -1.7), numbers(2.1, 0.0)


def leaf(value: torch.Tensor) -> Lazy:
    """Return a Lazy with a value."""
    return Lazy(value=value)


def compare(yours: tuple[Any, ...], program: Any, inputs: list[torch.Tensor], why: str) -> None:
    """Compare a program and its inputs."""
    lines, found = yours
    assert program == lines, f"your program {lines}\nexpected     {program}\n{why}"
    same = len(found) == len(inputs) and all(
        one is other for one, other in zip(found, inputs, strict=True)
    )
    assert same, f"your inputs {found}\nexpected {inputs}, the same tensor objects"


def test_one_line() -> None:
    """One operator and its input."""
    compare(kata.trace(leaf(A).sin()), (("sin", (("input", 0),)),), [A], "a line of one input")


def test_two_lines_and_a_number() -> None:
    """A line takes the result of another, and a Python number is written into the line."""
    program = (("mul", (("input", 0), ("input", 1))), ("add", (("line", 0), 0.5)))

    compare(
        kata.trace(leaf(A) * leaf(B) + 0.5),
        program,
        [A, B],
        "what it takes comes before",
    )


def test_met_again() -> None:
    """A Lazy that is used twice gets one line, or one input."""
    a, b = leaf(A), leaf(B)
    product = a * b
    lines, _ = kata.trace((b + product) * product)
    text = "\n".join(f"line {n}: {op} {takes}" for n, (op, takes) in enumerate(lines))

    assert_expected_inline(
        text,
        """\
line 0: mul (('input', 1), ('input', 0))
line 1: add (('input', 0), ('line', 0))
line 2: mul (('line', 1), ('line', 0))""",
    )


def test_equal_values_are_two_inputs() -> None:
    """Two tensors with equal numbers today may differ tomorrow."""
    one, other = A.clone(), A.clone()
    program = (("add", (("input", 0), ("input", 1))),)

    compare(
        kata.trace(leaf(one) + leaf(other)),
        program,
        [one, other],
        "ask who, not how much",
    )


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a line": lambda a, b: a + b,
    "with numbers": lambda a, b: a * 2.0 + b * 0.5 + 1.0,
    "met again": lambda a, b: (a * b + a) * (a * b),
    "order": lambda a, b: (b + a).sin() * a,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_value(name: str) -> None:
    """The value equals that of eager mode; `a` and `b` are unchanged."""
    with unchanged(A, B):
        yours = kata.look(PROGRAMS[name](leaf(A), leaf(B)), Compiler())

    says = f"{name}: yours is not that of eager mode\n".__add__
    torch.testing.assert_close(yours, PROGRAMS[name](A, B), rtol=1e-12, atol=1e-12, msg=says)


def test_recording_runs_nothing() -> None:
    """Neither recording nor tracing runs an operator."""
    with watched_operators() as names:
        kata.trace((leaf(A) * leaf(B)).sin())

    assert [] == names, f"your code ran {names}, but nobody has looked yet"


def test_looking_twice_computes_one_time() -> None:
    """The value is remembered."""
    compiler = Compiler()
    lazy = leaf(A).sin()
    first = kata.look(lazy, compiler)
    with watched_operators() as names:
        second = kata.look(lazy, compiler)

    assert [] == names, f"the second look runs {names}; expected no operators"
    assert first is second, "both looks must return the same tensor"
    assert first is lazy.value, "store the value in the Lazy"
    assert kata.look(leaf(B), compiler) is B, "for a Lazy with a value, return that value"
    assert 1 == len(compiler.compiled), (
        f"your look compiled {compiler.compiled}, expected one program"
    )


def test_the_same_program_is_compiled_once() -> None:
    """Ten steps with different numbers in the tensors."""
    compiler = Compiler()
    for step in range(10):
        value = numbers(step, 0.5)
        yours = kata.look((leaf(value) * leaf(B)).sin(), compiler)
        torch.testing.assert_close(yours, (value * B).sin(), msg=f"step {step}\n".__add__)

    assert 1 == len(compiler.compiled), (
        f"your code compiled {len(compiler.compiled)} programs in ten identical steps, expected one"
    )


def test_a_number_is_part_of_the_program() -> None:
    """Ten numbers make ten programs, as the brief warns."""
    compiler = Compiler()
    # Two of these numbers have the same hash: -1.0 and -2.0.
    for step in range(-5, 5):
        yours = kata.look(leaf(A) * float(step), compiler)
        torch.testing.assert_close(yours, A * step, msg=f"step {step}\n".__add__)

    assert 10 == len(compiler.compiled), (
        f"your code compiled {len(compiler.compiled)} programs, expected 10"
    )


def test_an_int_is_a_number_too() -> None:
    """An int goes into the program as it is, so integer tensors stay integer."""
    ints = torch.tensor([3, -4])
    try:
        yours = kata.look(leaf(ints) * 2 + 1, Compiler())
    except AttributeError as error:
        raise AssertionError(f"2 is a Python number, not a Lazy: {error}") from error

    torch.testing.assert_close(yours, ints * 2 + 1, msg="ints * 2 + 1\n".__add__)


def test_what_goes_where_is_part_of_the_program() -> None:
    """Two programs with the same operators but different arguments."""
    compiler, a, b = Compiler(), leaf(A), leaf(B)
    for yours, expected in ((a * b + a, A * B + A), (a * b + b, A * B + B)):
        value = kata.look(yours, compiler)
        torch.testing.assert_close(value, expected, msg="a * b + a, then a * b + b\n".__add__)


def test_two_compilers() -> None:
    """Each compiler has its own cache."""
    for _ in range(2):
        compiler = Compiler()
        kata.look(leaf(A) + leaf(B), compiler)
        assert 1 == len(compiler.compiled), (
            f"a new compiler compiled {compiler.compiled}, expected one program: use its own cache"
        )


def test_what_was_looked_at_is_an_input() -> None:
    """A look ends the recording: later programs start from the value."""
    middle = leaf(A).sin()
    after = middle * 2.0
    value = kata.look(middle, Compiler())

    compare(kata.trace(after), (("mul", (("input", 0), 2.0)),), [value], "middle has a value now")


def test_without_a_look_the_program_grows() -> None:
    """Fifty steps become one program, or the same one-line program fifty times."""
    compiler, lazy = Compiler(), leaf(A)
    for _ in range(50):
        lazy = lazy.sin()
    kata.look(lazy, compiler)
    assert [50] == [*map(len, compiler.compiled)], (
        f"you compile programs of {[*map(len, compiler.compiled)]} lines, expected one of 50"
    )
    compiler, lazy = Compiler(), leaf(A)
    for _ in range(50):
        lazy = lazy.sin()
        kata.look(lazy, compiler)

    lengths = [*map(len, compiler.compiled)]
    assert [1] == lengths, (
        f"with a look after each step you compile programs of {lengths} lines, expected [1]"
    )


def test_the_past_is_let_go() -> None:
    """A Lazy with a value drops its inputs, and no cache holds a tensor."""
    compiler, value = Compiler(), A.clone()
    lazy = leaf(value) * 3.0
    kata.look(lazy, compiler)
    gone = weakref.ref(value)
    del value
    gc.collect()

    assert lazy.inputs == (), (
        f"the Lazy has a value and still has inputs {lazy.inputs}, expected ()"
    )
    assert gone() is None, "the input is still alive: a program must hold positions, not tensors"


@given(x=tensors([torch.float64], max_dims=2))
def test_values_that_bite(x: torch.Tensor) -> None:
    """Infinities, NaN, zeros and empty tensors, in any layout."""
    with unchanged(x=x):
        yours = kata.look((leaf(x) * leaf(x)).sin() + 1.0, Compiler())
    says = f"for {x.tolist()}\n".__add__
    torch.testing.assert_close(yours, (x * x).sin() + 1.0, equal_nan=True, msg=says)
