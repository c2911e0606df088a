"""Tests of k02_branches: each program is traced, scripted and run, and compared with your row."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import pytest
import torch

from katas.lecture08 import k02_branches as kata
from katas.lecture08.k02_branches import PROGRAMS
from plugins.kit import forbids


# The rule behind each row. The answer itself is not stored: PyTorch computes it.
RULES = {
    "sign": "a tensor becomes a bool of Python: a trace cannot see what Python does with it",
    "total": "a loop of Python is gone from a trace: what it did for four rows is written down",
    "mean": "x.shape[0] of a traced tensor is a traced value, as long as no int is made of it",
    "length": "__len__ must return an int of Python: that is the end of tracing",
    "item": "item() returns a number of Python: a trace has the number, a script the call",
    "mixed": "a graph within a graph is kept as it is: what was compiled stays compiled",
}
NAMES = [*PROGRAMS, "mixed"]


def compiled(function: Any, *, traced: bool) -> Any:
    """Return the trace of a function for four ones, or its script."""
    with warnings.catch_warnings():
        # Both are deprecated, and a trace warns if it may be wrong.
        warnings.simplefilter("ignore")
        if traced:
            return torch.jit.trace(function, (torch.ones(4),), check_trace=False)
        return torch.jit.script(function)


@cache
def found(name: str, *, traced: bool) -> float:
    """Return PyTorch's result for eight times -3."""
    if name == "mixed":
        # The function it calls is compiled the other way.
        inner = compiled(PROGRAMS["sign"], traced=not traced)

        def program(x: torch.Tensor) -> torch.Tensor:
            return inner(x)  # type: ignore[no-any-return]
    else:
        program = PROGRAMS[name]
    return float(compiled(program, traced=traced)(torch.full((8,), -3.0)))


@cache
def predicted() -> dict[str, tuple[float, float]]:
    """Return your rows, which cannot call torch."""
    with forbids(kata) as fresh:
        rows = dict(fresh.predictions())
    for name, row in rows.items():
        kinds = [type(each) for each in row]
        numbers = len(kinds) == 2 and {*kinds} <= {int, float}
        assert numbers, f"{name}: your row is {row}, expected two numbers"
    return rows


@pytest.mark.given
def test_a_trace_only_warns() -> None:
    """Despite the warning, PyTorch returns a trace, and it is right for its example."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = torch.jit.trace(PROGRAMS["sign"], (torch.ones(4),), check_trace=False)
    said = [str(each.message) for each in caught]
    assert any("tensor to a Python boolean" in each for each in said), f"PyTorch says {said}"
    for x in (torch.ones(4), torch.ones(2) * 7):
        assert trace(x) == PROGRAMS["sign"](x), f"the trace of sign differs for {x}"


def test_every_program_is_predicted() -> None:
    """There is exactly one row of two numbers for each program, and no row calls torch."""
    yours = {*predicted()}

    assert {*NAMES} == yours, f"yours has rows for {sorted(yours)}; expected {NAMES}"


@pytest.mark.parametrize("name", NAMES)
def test_prediction(name: str) -> None:
    """The first number is the trace's result, the second the script's."""
    yours = predicted()[name]
    wrong = [
        f"yours  the {what} returns {number}; PyTorch's returns another number"
        for number, what, traced in zip(yours, ("trace", "script"), (True, False), strict=True)
        if number != pytest.approx(found(name, traced=traced))
    ]
    about = PROGRAMS[name].__doc__ if name in PROGRAMS else "sign, called by the other kind"

    assert not wrong, "\n".join([f"{name}: {about}", *wrong, f"rule   {RULES[name]}"])
