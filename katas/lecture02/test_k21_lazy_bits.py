"""Tests of k21_lazy_bits: every expression is run and compared with your prediction."""

from __future__ import annotations

import pytest
import torch

from katas.lecture02 import k21_lazy_bits as kata
from katas.lecture02.k21_lazy_bits import EXPRESSIONS
from plugins.kit import forbids


# The rule that decides each expression; the answer itself comes from PyTorch.
RULES = {
    "twice": "conj turns the bit around",
    "imag": "the storage has the other sign, and no element is written",
    "real": "conjugating leaves the real part alone",
    "adjoint": "mH is a transpose, conjugated; both are views",
    "product": "new elements are written as they are to be",
    "clone": "new elements are written as they are to be",
}


def predicted() -> dict[str, tuple[bool, str]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        return {name: (row.shares, row.bit) for name, row in fresh.predictions().items()}


def test_every_expression_is_predicted() -> None:
    """There is exactly one row for each expression; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == set(EXPRESSIONS), (
        f"rows and expressions must match one to one; they differ in {yours}"
    )


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(name: str) -> None:
    """Storage and bit are those of the result that PyTorch returns."""
    row = predicted()[name]
    z = torch.tensor([1 + 2j, 3 - 1j])
    result = EXPRESSIONS[name](z)
    shares = z.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
    bit = "conj" if result.is_conj() else "neg" if result.is_neg() else ""
    # In Python True equals 1, and an instance of a custom class could equal everything.
    is_right = [type(each) for each in row] == [bool, str] and row == (shares, bit)

    assert is_right, f"your row for {name!r} is {row}, not what PyTorch gives. Rule: {RULES[name]}"
