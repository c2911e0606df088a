"""Tests of k23_promotion: every expression is run and compared with your prediction."""

from __future__ import annotations

import pytest

from katas.lecture02 import k23_promotion as kata
from katas.lecture02.k23_promotion import EXPRESSIONS
from plugins.kit import forbids


# The rule that decides each expression; the answer itself comes from PyTorch.
RULES = {
    "int64 and float32 scalar": "floats are the higher category, with or without dims",
    "int64 and float16": "floats are the higher category, however few their bits",
    "int8 and int64 scalar": "within a category, a tensor with dims decides",
    "uint8 and int8": "the smallest dtype that has room for both",
    "uint8 and 300": "within a category, a tensor decides, whatever the number",
    "uint16 and int16": "the newer unsigned types go with floats alone",
}


def predicted() -> dict[str, str]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        return dict(fresh.predictions().items())


def found(name: str) -> str:
    """Return what PyTorch does."""
    try:
        return str(EXPRESSIONS[name]().dtype).removeprefix("torch.")
    except RuntimeError:
        return "error"


def test_every_expression_is_predicted() -> None:
    """There is exactly one row for each expression; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == set(EXPRESSIONS), (
        f"rows and expressions must match one to one; they differ in {yours}"
    )


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(name: str) -> None:
    """The dtype is that of PyTorch's result."""
    row = predicted()[name]
    # An instance of a custom class could equal everything.
    is_right = type(row) is str and row == found(name)

    assert is_right, (
        f"your row for {name!r} is {row!r}, not what PyTorch gives. Rule: {RULES[name]}"
    )
