"""Tests of k09_masked_row: every program is run and compared with your prediction."""

from __future__ import annotations

import math

import pytest
import torch

from katas.lecture05 import k09_masked_row as kata
from katas.lecture05.k09_masked_row import PROGRAMS
from plugins.kit import forbids


# What decides each program; the answer itself comes from PyTorch.
RULES = {
    "by_softmax": "a softmax is exp divided by a sum of exp: of exp(-inf), what is the sum?",
    "by_large_number": "a softmax does not change if all scores have one more: -1e9 is a number",
    "all_true": "what does True mean to this function, and what are the scores of zeros?",
    "module_with_weights": "the weights are wanted: then the softmax is a plain one",
    "module_without_weights": "no weights are wanted: then it calls scaled_dot_product_attention",
    "module_gradient": "a gradient goes back through the row that was spoilt, to all values",
}


def values() -> torch.Tensor:
    """Return the values that the programs get."""
    return torch.tensor([[2.0], [4.0]])


def outcome(name: str) -> str:
    """Run a program, and name its result."""
    first = PROGRAMS[name](values())[0].item()
    return "nan" if math.isnan(first) else {0.0: "zero", 3.0: "mean"}.get(first, f"{first}")


def predicted() -> dict[str, str]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        return dict(fresh.predictions())


@pytest.mark.given
def test_the_row_of_the_brief() -> None:
    """With a row of False, scaled_dot_product_attention gives zero."""
    v = values()
    keep = torch.tensor([[False, False], [True, True]])
    found = torch.nn.functional.scaled_dot_product_attention(v, v, v, attn_mask=keep)[0].item()

    assert found == 0, f"the brief says 0, PyTorch gives {found}"


@pytest.mark.given
def test_each_program_gives_one_of_three() -> None:
    """In this PyTorch each program gives zero, NaN or the mean."""
    found = {name: outcome(name) for name in PROGRAMS}

    assert {*found.values()} <= {"zero", "nan", "mean"}, found


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = predicted()

    assert {*PROGRAMS} == {*yours}, f"yours has rows for {sorted(yours)}; expected {[*PROGRAMS]}"
    words = {"zero", "nan", "mean"}
    wrong = {name: row for name, row in yours.items() if type(row) is not str or row not in words}
    assert not wrong, f"expected one of the strings {sorted(words)}; yours has {wrong}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """The prediction is what PyTorch gives for the first row."""
    row = predicted()[name]
    is_right = row == outcome(name)

    assert is_right, (
        f"{name}: {PROGRAMS[name].__doc__}\n"
        f"yours  {row}, which is not what PyTorch gives\n"
        f"rule   {RULES[name]}"
    )
