"""Tests of k03_views: every expression is run and compared with your prediction."""

from __future__ import annotations

import pytest
import torch

from katas.lecture02 import k03_views as kata
from katas.lecture02.k03_views import EXPRESSIONS
from plugins.kit import forbids


BASIC = "an int, a slice or None moves the offset and scales strides, and copies nothing"
COLLECTED = "elements that no constant step reaches are collected: a new result, row-major here"
STRIDES = "such a method has other strides for the same storage: which step does each dim take?"
ALLOWED = "reshape and flatten are views where strides allow it, and copies elsewhere"
KEPT = "what need not be changed is returned as it is"
# The rule that decides each expression; the answer itself comes from PyTorch.
RULES = {
    "select": BASIC,
    "steps": BASIC,
    "list": COLLECTED,
    "transpose": STRIDES,
    "diagonal": STRIDES,
    "expand": STRIDES,
    "repeat": "repeat writes each element as often as it is asked, even if that is once",
    "flip": "strides are never negative",
    "chunk": f"chunk is a slice: {BASIC}",
    "flatten a transpose": ALLOWED,
    "reshape a transpose": f"{ALLOWED}: which dims are merged, which one is split?",
    "contiguous": KEPT,
    "contiguous transpose": "contiguous gives row-major strides for the shape that it is asked on",
    "other bits": "strides and offset count elements of the result's dtype",
    "sum with zero": "element by element, the order of the dims in memory is that of the input",
}


def predicted() -> dict[str, tuple[bool, tuple[int, ...], int]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        # Read everything while torch is hidden, so that nothing is computed later.
        return {
            name: (row.shares, tuple(row.strides), row.offset)
            for name, row in fresh.predictions().items()
        }


def test_every_expression_is_predicted() -> None:
    """There is exactly one row for each expression; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == set(EXPRESSIONS), (
        f"rows and expressions must match one to one; they differ in {yours}"
    )


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(device: str, name: str) -> None:
    """Storage, strides and storage offset are those of the result that PyTorch returns."""
    row = predicted()[name]
    x = torch.arange(24, device=device).reshape(2, 3, 4)
    result = EXPRESSIONS[name](x)
    shares = x.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
    # In Python True equals 1, but an offset is not a bool.
    is_right = repr(row) == repr((shares, result.stride(), result.storage_offset()))

    assert is_right, f"your row for {name!r} is {row}, not what PyTorch gives. Rule: {RULES[name]}"
