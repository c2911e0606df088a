"""Tests of k03_frozen: each tool captures its program; eager mode is the reference."""

from __future__ import annotations

import warnings

import pytest
import torch

from katas.lecture01 import k03_frozen as kata
from katas.lecture01.k03_frozen import PAIRS
from plugins.kit import forbids


# The rule that decides each pair; the answer itself comes from PyTorch.
RULES = {
    "fx of length": "what is asked of the object without a value is written down: .shape too?",
    "fx of branch": "if asks an object without a value for a truth value",
    "trace of branch": "the program runs on real tensors, and only operators are written down",
    "export of counter": "one graph, no Python in it, and one run to make it",
    "compiled counter": "what a guard watches may change: then a new graph is made",
    "compiled branch": ("where a tensor decides, the graph ends, and Python goes on"),
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
    """Return PyTorch's verdict on a pair."""
    tool, program = PAIRS[name]
    inputs = [torch.ones(2), -torch.ones(2), torch.ones(3)]
    if tool is kata.export:
        # Exported for a tensor of two elements only.
        inputs = inputs[:2]
    eager = program()
    wanted = [eager(x).tolist() for x in inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            captured = tool(program(), inputs[0])
        except Exception:  # noqa: BLE001 - each tool has errors of its own
            return "refused"
        results = [captured(x).tolist() for x in inputs]
    return "as eager" if results == wanted else "frozen"


@pytest.mark.given
def test_fx_freezes_the_counter() -> None:
    """The example of the brief: Python ran once, so the graph multiplies by 1."""
    x = torch.ones(2)
    captured = torch.fx.symbolic_trace(kata.counter())

    assert captured(x).tolist() == captured(x).tolist() == [1.0, 1.0]


def test_every_pair_is_predicted() -> None:
    """There is exactly one row for each pair; your rows cannot call torch."""
    yours = set(predicted())

    assert set(PAIRS) == yours, f"you return rows for {sorted(yours)}; expected {[*PAIRS]}"


@pytest.mark.parametrize("name", PAIRS)
def test_prediction(name: str) -> None:
    """What the tool does with the program."""
    row = predicted()[name]
    assert row in {"as eager", "frozen", "refused"}, (
        f"{name}: {row!r} is not one of the three verdicts"
    )
    tool, program = PAIRS[name]
    is_right = verdict(name) == row

    assert is_right, (
        f"{name}: your row says {row!r}, but PyTorch does something else\n"
        f"program  {program.__doc__}\ntool     {tool.__doc__}\nrule     {RULES[name]}"
    )
