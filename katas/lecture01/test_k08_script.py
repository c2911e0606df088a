"""Tests of k08_script: every line is run and compared with your prediction."""

from __future__ import annotations

import warnings

import pytest
import torch

from katas.lecture01 import k08_script as kata
from katas.lecture01.k08_script import LINES
from plugins.kit import forbids


# The rule that decides each line; the answer itself comes from PyTorch.
RULES = {
    "wrapped": "since 0.4 a Variable is a tensor, and the old constructor is kept for old programs",
    "bare": "since 0.4 a tensor and a Variable are one: what does isinstance say of any tensor?",
    "volatile": "no_grad took its place in 0.4; an argument that does nothing is worth a word",
    "loss_data": "since 0.4 a sum is a tensor without dims: what can be indexed in it?",
    "total": "since 0.4 a sum is a tensor without dims, not a number",
    "masked": "masks are bool since 1.2; indexing still takes bytes for the time being",
    "filled": "masks are bool since 1.2; for this operator the time of grace is over",
    "scaled": "an old signature, in deprecated.yaml: it is understood, not loved",
    "column_and_row": "since 0.2 shapes are broadcast: align them at the right",
    "square_and_row": "since 0.2 shapes are broadcast: align them at the right, 2 against 4",
    "uninitialised": "a constructor of TH's days; numbers are sizes",
    "zeroed": "since 2.0 zero_grad lets gradients go instead of filling them with 0",
}


def predicted() -> dict[str, str]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows = dict(fresh.predictions())
    types = {*map(type, rows.values())}
    assert types <= {str}, f"a row must be a string; yours contain {types}"
    return rows


def verdict(name: str) -> str:
    """Return what today's PyTorch does with a line."""
    line, old = LINES[name]
    before = torch.is_warn_always_enabled()
    # Some warnings appear once per process, and this may not be the first time.
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            new = line(torch.FloatTensor([[1, 2], [3, 4]]))
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return "raises"
    finally:
        torch.set_warn_always(before)
    if said:
        return "warns"
    return "same" if new == old else "other"


@pytest.mark.given
def test_a_quotient_of_integers() -> None:
    """The example of the brief."""
    assert (torch.LongTensor([3]) / 2).tolist() == [1.5]


def test_every_line_is_predicted() -> None:
    """There is exactly one row for each line; your rows cannot call torch."""
    yours = set(predicted())

    assert set(LINES) == yours, f"you return rows for {sorted(yours)}; expected {[*LINES]}"


@pytest.mark.parametrize("name", LINES)
def test_prediction(name: str) -> None:
    """Each line is run on today's PyTorch."""
    row = predicted()[name]
    known = {"same", "warns", "raises", "other"}
    assert row in known, f"{name}: {row!r} is not one of {sorted(known)}"
    is_right = verdict(name) == row

    assert is_right, (
        f"{name}: your row says {row!r}, but today's PyTorch does something else\n"
        f"line  {LINES[name][0].__doc__}\nrule  {RULES[name]}"
    )
