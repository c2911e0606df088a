"""Tests of k05_repairs: each program is exported, and gives the original's answers."""

from __future__ import annotations

from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from textwrap import fill
from textwrap import indent
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture08 import k05_repairs as kata
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


PROGRAMS = ("shift", "scale", "distance", "average", "positions", "flip")
DYNAMIC = ("average", "positions")
# What each program has to do instead of asking tensors for values and sizes.
RULES = {
    "shift": "a tensor without values is no bool: leave the choice to an operator",
    "scale": "NumPy needs values: PyTorch has an operator for it",
    "distance": "a class is a box: PyTorch must be told how to take the tensors out",
    "average": "int() needs a number: leave the size a symbol",
    "positions": "a constant with four rows leaves x with four rows: make it from the size of x",
    "flip": "a branch of cond must not return its input: the result would be no new tensor",
}


def numbers(count: int, sign: int = 1) -> torch.Tensor:
    """Return irrational float64 numbers of shape (count, 3) whose sum has this sign."""
    x = torch.arange(1, 3.0 * count + 1, dtype=torch.float64).sqrt().reshape(count, 3)
    return (x - x[0, 2]) * sign


def near(total: float) -> torch.Tensor:
    """Return numbers of shape (4, 3) with exactly this small sum."""
    x = torch.arange(12, dtype=torch.float64).reshape(4, 3) - 5.5
    x[0, 0] += total
    return x


def spoilt() -> torch.Tensor:
    """Return a tensor with an infinity and zeros of both signs, and a positive sum."""
    x = numbers(4)
    x[1] = torch.tensor([float("inf"), 0.0, -0.0])
    return x


def expected(name: str, x: torch.Tensor) -> torch.Tensor:
    """Return a program's result, by another formula; for `distance`, between x and its square."""
    rows = torch.arange(len(x), dtype=x.dtype)
    positive = bool(x.sum() > 0)
    if name == "shift":
        return x + 1 if positive else x - 1
    if name == "scale":
        return x / x.flatten().sort().values[-1]
    if name == "distance":
        return (x - x**2).pow(2).sum()
    if name == "average":
        return x.mean(0)
    if name == "positions":
        return x + rows.reshape(-1, 1)
    return -x if positive else x


def argument(name: str, x: torch.Tensor) -> Any:
    """Return what a program takes."""
    if name != "distance":
        return x
    says = f"yours has Pair = {kata.Pair}, expected the class: register_dataclass is no decorator, "
    assert isinstance(kata.Pair, type), f"{says}it returns None; call it below the class"
    return kata.Pair(x, x**2)


@cache
def artefact(name: str) -> Callable[..., torch.Tensor]:
    """Return the exported, callable program; its example has four rows and a positive sum."""
    from torch.export import Dim  # noqa: PLC0415 - imports sympy
    from torch.export import export  # noqa: PLC0415

    class Program(nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> torch.Tensor:
            result: torch.Tensor = getattr(kata, name)(x)
            return result

    shapes = {"x": {0: Dim.DYNAMIC}} if name in DYNAMIC else None
    try:
        # If it gives up, PyTorch prints the graph, twice.
        with redirect_stderr(StringIO()):
            program = export(Program(), (argument(name, numbers(4)),), dynamic_shapes=shapes)
    except (RuntimeError, ValueError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
    else:
        module: Callable[..., torch.Tensor] = program.module()
        return module
    said = indent("\n".join(fill(line.strip(), 74) for line in lines[:2]), "  ")
    raise AssertionError(f"{name} does not export. PyTorch says:\n{said}\n{RULES[name]}")


def check(name: str, program: Callable[..., torch.Tensor], x: torch.Tensor, what: str) -> None:
    """Compare with the formula."""
    given, before = argument(name, x), x.clone()
    with unchanged(x=x):
        yours = program(given)
        again = program(given)
    says = f"{name}, {what}: yours differs from the original\n{RULES[name]}\n".__add__
    for each in (yours, again):
        torch.testing.assert_close(
            each, expected(name, x), rtol=1e-12, atol=0, equal_nan=True, msg=says
        )
    assert yours.data_ptr() != x.data_ptr(), f"{name}, {what}: your function returned its input"
    torch.testing.assert_close(x, before, rtol=0, atol=0, msg="the input has changed\n".__add__)


@pytest.mark.given
@pytest.mark.parametrize("name", PROGRAMS[:-1])
def test_python_answers(name: str) -> None:
    """Called from Python with four rows, each program is right from the start."""
    check(name, getattr(kata, name), numbers(4), "called by Python")
    check(name, getattr(kata, name), numbers(4, -1), "called by Python, with a negative sum")


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_exports(name: str) -> None:
    """The program exports, and is right for its example."""
    check(name, artefact(name), numbers(4), "exported")


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_answers_for_others(name: str) -> None:
    """The artefact does not depend on its example: try negative sums, infinities, more rows."""
    program = artefact(name)
    check(name, program, numbers(4, -1), "exported, for a negative sum")
    check(name, program, spoilt(), "exported, with an infinity")
    for total in (0.25, 0.0, -0.25):
        check(name, program, near(total), f"exported, for a sum of {total}")
    if name in DYNAMIC:
        for count in (2, 3, 5, 100, 70_000):
            check(name, program, numbers(count), f"exported with four rows, called with {count}")
            check(name, getattr(kata, name), numbers(count), f"called by Python with {count} rows")


@pytest.mark.given
def test_positions_keeps_the_dtype() -> None:
    """The original adds float32 numbers to float32 and to float64 tensors, and keeps the dtype."""
    for dtype in (torch.float32, torch.float64):
        yours = kata.positions(numbers(4).to(dtype)).dtype
        assert yours == dtype, (
            f"x is {dtype}, yours {yours}: the added numbers must not change the dtype"
        )


def test_flip_is_still_a_choice() -> None:
    """Both branches of `flip` also work when Python calls it."""
    artefact("flip")
    for sign in (1, -1):
        check("flip", kata.flip, numbers(4, sign), "called by Python")


def test_pair_is_still_a_pair() -> None:
    """The fields of a Pair keep their names, and hold the tensors that were passed in."""
    x = numbers(4)
    pair = argument("distance", x)
    leaves, spec = torch.utils._pytree.tree_flatten(pair)  # noqa: SLF001 - export's own way in

    assert pair.left is x, "left is not the tensor that was passed in"
    assert 2 == len(leaves), f"yours has {len(leaves)} leaves for export, expected 2: {spec}"
