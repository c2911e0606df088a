"""Tests of k02_spellings: every program is run and compared with your prediction."""

from __future__ import annotations

import pytest
import torch

from katas.lecture01 import k02_spellings as kata
from katas.lecture01.k02_spellings import PROGRAMS
from plugins.kit import forbids


# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "square": "a special case of another operator needs no kernel of its own",
    "expit": "torch.special has names that statisticians use, for operators that are there",
    "one_minus": (
        "1 is no tensor and comes first: its turned-round operator takes the tensor first"
    ),
    "inner": "@ falls apart into what suits the dims: two vectors, a matrix and a vector, ...",
    "one_over": ("Tensor.__rtruediv__, in torch/_tensor.py, is Python: two operators"),
    "linear": ("a weight has a row per output, so a view comes first; then one operator does all"),
}


def predicted() -> dict[str, list[str]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows = {name: list(row) for name, row in fresh.predictions().items()}
    types = {type(each) for row in rows.values() for each in row}
    assert types <= {str}, f"a row must be a list of strings; yours contain {types}"
    return rows


@pytest.mark.given
def test_multiply() -> None:
    """The example of the brief: an alias arrives under its short name."""
    x = torch.rand(2)
    found = kata.arrivals(lambda: torch.multiply(x, x))

    assert ["mul"] == found, f"the brief says mul, PyTorch says {found}"


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = set(predicted())

    assert set(PROGRAMS) == yours, f"you return rows for {sorted(yours)}; expected {[*PROGRAMS]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """What arrives while the program runs."""
    row = predicted()[name]
    x, rows = torch.rand(3), torch.rand(3, 3)
    is_right = kata.arrivals(lambda: PROGRAMS[name](x, rows)) == row

    assert is_right, (
        f"{name}: your row says {row}, but something else arrives\n"
        f"program  {PROGRAMS[name].__doc__}\nrule     {RULES[name]}"
    )
