"""Tests of k04_unbacked: PyTorch's own symbols answer the same questions; then you export."""

from __future__ import annotations

import operator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from itertools import product
from math import inf
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from katas.lecture08 import k04_unbacked as kata
from katas.lecture08.k04_unbacked import Condition
from katas.lecture08.k04_unbacked import Unbacked
from katas.lecture08.k04_unbacked import check
from katas.lecture08.k04_unbacked import decide
from katas.lecture08.k04_unbacked import first
from katas.lecture08.k04_unbacked import mean_of_positive
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


WHERE = "look at bound_sympy in torch/utils/_sympy/value_ranges.py"
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
# "u0 <= 3", as a pair.
QUESTIONS = st.tuples(st.sampled_from([*OPERATORS]), st.integers(-2, 5))
CHOICES = ("raises", True, False, None)


def ask_pytorch(checks: list[tuple[str, int]], question: tuple[str, int]) -> object:
    """Return PyTorch's answer after these checks: a bool, None for a guard, "raises"."""
    from torch.fx.experimental import symbolic_shapes  # noqa: PLC0415 - imports sympy

    size = symbolic_shapes.ShapeEnv().create_unbacked_symint()
    try:
        for sign, k in checks:
            torch._check(OPERATORS[sign](size, k))  # noqa: SLF001 - its documented name
    except RuntimeError:
        return "raises"
    try:
        return bool(OPERATORS[question[0]](size, question[1]))
    except symbolic_shapes.GuardOnDataDependentSymNode:
        return None


def condition(size: Unbacked, sign: str, k: int) -> Condition:
    """Return a condition of the kata."""
    made: Condition = size.equals(k) if sign == "==" else OPERATORS[sign](size, k)
    return made


def ask_you(checks: list[tuple[str, int]], question: tuple[str, int]) -> object:
    """Return your answer after your checks."""
    size = Unbacked()
    for sign, k in checks:
        try:
            check(condition(size, sign, k))
        except RuntimeError as error:
            if "but got False" not in str(error):
                raise
            return "raises"
    return decide(condition(size, *question))


def compare(checks: list[tuple[str, int]], question: tuple[str, int]) -> None:
    """Ask you and PyTorch, and compare the answers."""
    yours, theirs = ask_you(checks, question), ask_pytorch(checks, question)
    said = [f"u0 {sign} {k}" for sign, k in [*checks, question]]

    assert yours is theirs or yours == theirs == "raises", (
        f"checked: {', '.join(said[:-1]) or 'nothing'}; asked: {said[-1]}\n"
        f"yours     {yours}\nPyTorch's {theirs}    (None: it depends); {WHERE}"
    )


@pytest.mark.parametrize(
    ("sign", "k"), [(">", 1), ("==", 9), (">", 5)], ids=["True", "False", "depends"]
)
def test_decide_in_the_picture(sign: str, k: int) -> None:
    """The three questions of the brief, for a size from 3 to 8."""
    size = Unbacked(3, 8)
    yours = decide(condition(size, sign, k))
    theirs = ask_pytorch([(">=", 3), ("<=", 8)], (sign, k))

    assert yours is theirs, f"3 <= u0 <= 8, asked u0 {sign} {k}: yours {yours}, PyTorch's {theirs}"
    assert Unbacked(3, 8) == size, f"`decide` changed the range to {size}, expected no change"


def test_decide_at_the_ends() -> None:
    """Both ends belong to a range; a range with a single value answers every question."""
    for size in (Unbacked(3, 8), Unbacked(4, 4), Unbacked(5), Unbacked(upper=2), Unbacked()):
        ends = [(">=", size.lower), ("<=", size.upper)]
        checks = [(sign, int(k)) for sign, k in ends if abs(k) < 100]
        for sign in OPERATORS:
            for k in range(1, 10):
                yours = decide(condition(size, sign, k))
                theirs = ask_pytorch(checks, (sign, k))
                assert yours is theirs, (
                    f"{size}, asked u0 {sign} {k}: yours {yours}, PyTorch's {theirs}; {WHERE}"
                )


def test_a_check_answers_a_question() -> None:
    """After a promise, what follows from it holds too."""
    compare([(">", 2)], (">", 2))
    compare([(">", 2)], (">", 1))
    compare([(">", 2)], (">", 3))
    compare([("<=", 4)], ("==", 5))


def test_checks_add_up() -> None:
    """A second promise does not replace the first, in either order."""
    compare([(">", 2), ("<", 9)], (">", 2))
    compare([(">", 2), (">", 0)], (">", 2))
    compare([("<", 2), ("<", 5)], ("<", 2))
    compare([(">", 2), ("<", 4)], ("==", 3))


def test_a_promise_that_cannot_be_kept() -> None:
    """Such a promise raises an error, and does not change the range."""
    size = Unbacked(3, 8)
    with pytest.raises(RuntimeError, match="but got False"):
        check(size < 3)
    assert Unbacked(3, 8) == size, f"your `check` changed the range to {size}, expected no change"
    check(size < 4)
    assert Unbacked(3, 3) == size, f"3 <= u0 <= 8, checked u0 < 4: yours {size}, expected 3 to 3"


@given(checks=st.lists(QUESTIONS, max_size=4), question=QUESTIONS)
@example(checks=[("==", 3)], question=(">", 2))
@example(checks=[(">=", 10**9)], question=(">", 10**6))
@example(checks=[(">=", 1), ("<=", 1)], question=("==", 1))
def test_any_checks(checks: list[tuple[str, int]], question: tuple[str, int]) -> None:
    """Your answers equal those of PyTorch's ShapeEnv, whatever was promised before."""
    compare(checks, question)


def test_nobody_else_decides() -> None:
    """ShapeEnv and SymPy compute such ranges, but here you do."""
    others = "torch.fx", "torch.SymInt", "torch.utils", "sympy"
    with forbids(kata, *others, allow={"torch._"}) as fresh:
        size = fresh.Unbacked()
        fresh.check(size > 2)
        yours = fresh.decide(size > 1), bool(size > 1)
    assert (True, True) == yours, f"checked u0 > 2, asked u0 > 1: yours {yours}"


class Program(nn.Module):  # type: ignore[misc, unused-ignore]
    """A function, wrapped in a Module for export."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        """Call the function."""
        return self.function(*args)


@cache
def artefact(function: Callable[..., torch.Tensor], *args: Any) -> Any:
    """Return the exported function as a callable; if it does not export, say why."""
    from torch.export import export  # noqa: PLC0415 - imports sympy

    try:
        # If it gives up, PyTorch prints the graph, twice.
        with redirect_stderr(StringIO()):
            return export(Program(function), args).module()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
    raise AssertionError(f"yours does not export: {reason}")


X = torch.tensor([2.0, -3.0, 5.0, 7.0], dtype=torch.float64)
X = X.abs().sqrt() * X.sign()


def test_first_exports() -> None:
    """The artefact and the function return the same sums."""
    program = artefact(first, X, torch.tensor(2))
    for x, n in product((X, torch.cat([X[:3], X.new_tensor([inf])])), range(5)):
        count = torch.tensor(n)
        with unchanged(x, count):
            yours = program(x, count), first(x, count)
        for each in yours:
            says = f"the first {n} of {x.tolist()}: another sum\n".__add__
            torch.testing.assert_close(each, x[:n].sum(), rtol=1e-12, atol=0, msg=says)


def test_first_keeps_its_promise() -> None:
    """Too large a count raises, in the artefact and in Python, for vectors of any length."""
    program = artefact(first, X, torch.tensor(2))
    for run, x, n in ((program, X, 5), (first, X, 5), (first, X[:1], 2)):
        try:
            yours = run(x, torch.tensor(n))
        except (RuntimeError, ValueError, AssertionError):
            continue
        raise AssertionError(f"the first {n} of {len(x)}: yours {yours}, expected an error")
    long = torch.cat([X, X])
    says = "the first 6 of 8 elements: another sum\n".__add__
    torch.testing.assert_close(first(long, torch.tensor(6)), long[:6].sum(), msg=says)


@pytest.mark.parametrize("name", ["some", "near", "none", "zeros", "nan", "inf"])
def test_mean_exports(name: str) -> None:
    """One artefact handles vectors with and without positive elements, so it has both branches."""
    vectors = {
        "some": X,
        "near": X.new_tensor([0.1, -0.7, 0, 0.9]).sin(),
        "none": -X.abs(),
        "zeros": X * 0,
        "nan": X.new_tensor([float("nan"), -1, 2, 3]),
        "inf": X.new_tensor([1, float("inf"), -1, 0]),
    }
    x = vectors[name]
    expected = x[x > 0].mean() if (x > 0).any() else x.new_zeros(())
    program = artefact(mean_of_positive, X)
    with unchanged(x):
        yours = program(x), mean_of_positive(x)
    for each in yours:
        says = f"the mean of what is positive in {x.tolist()}: another\n".__add__
        torch.testing.assert_close(each, expected, rtol=1e-12, atol=0, msg=says)


def test_answers_as_text() -> None:
    """All questions about a size from 3 to 5, before and after a promise."""
    signs = {True: "+", False: "-", None: "?"}
    size = Unbacked(3, 5)
    lines = []
    for promise in ("3 to 5", "u0 > 3"):
        lines.append(promise)
        lines += [
            f"{sign:2} {' '.join(signs[decide(condition(size, sign, k))] for k in range(2, 7))}"
            for sign in OPERATORS
        ]
        check(size > 3)

    assert_expected_inline(
        "\n".join(lines),
        """\
3 to 5
<  - - ? ? +
<= - ? ? + +
>  + ? ? - -
>= + + ? ? -
== - ? ? ? -
u0 > 3
<  - - - ? +
<= - - ? + +
>  + + ? - -
>= + + + ? -
== - - ? ? -""",
    )
