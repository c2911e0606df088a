"""Tests of k06_dynamic: the programs are exported and run, and your rows compared."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch
from torch.export import Dim

from katas.lecture15 import k06_dynamic as kata
from katas.lecture15.conftest import Function
from katas.lecture15.k06_dynamic import BATCHES
from katas.lecture15.k06_dynamic import PROGRAMS
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


RULES = {
    "named": "a name promises a range: from its min, by default 0, to its max",
    "named_fixed": "the code works only for size 4, and a named Dim insists on the whole range",
    "auto": "the size is a symbol, and nothing in the code restricts it",
    "auto_of_one": "a size of 0 or 1 is taken for a constant; AUTO accepts that",
    "auto_fixed": "the code forces one size; AUTO accepts that, where a name raises",
    "auto_if": "the example decides which branch is in the graph, and on what condition",
}


def function_of(code: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what a row computes."""
    made: Callable[[torch.Tensor], torch.Tensor] = eval(  # noqa: S307 - a row of the kata
        f"lambda x: {code}", {"torch": torch}
    )
    return made


@cache
def measured(name: str) -> tuple[int, ...]:
    """Export a program, and return the batches that it runs; check that each answer is right."""
    code, batch, spec = PROGRAMS[name]
    size = eval(spec, {"Dim": Dim})  # noqa: S307 - a row of the kata
    function = function_of(code)
    try:
        program = torch.export.export(
            Function(function), (torch.ones(batch, 4),), dynamic_shapes=(({0: size},),)
        )
    except (ValueError, RuntimeError, torch._dynamo.exc.UserError):  # noqa: SLF001
        return ()
    module, found = program.module(), []
    for batch in BATCHES:
        x = torch.full((batch, 4), 0.7)
        try:
            result = module(x)
        except (AssertionError, RuntimeError):
            continue
        assert torch.equal(function(x), result), f"{name}: a wrong answer for a batch of {batch}"
        found.append(batch)
    return tuple(found)


def predicted() -> dict[str, tuple[int, ...]]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        found: dict[str, tuple[int, ...]] = dict(fresh.runs())
        assert found == fresh.runs(), "`runs` returns something different when it is called again"
        return found


@pytest.mark.given
def test_a_range_is_checked() -> None:
    """The program of "named" refuses a batch of 9 instead of computing with it."""
    assert 9 not in measured("named")


def test_each_program_is_there() -> None:
    """There is one row for each program, and no other."""
    yours = predicted()

    assert {*PROGRAMS} == {*yours}, f"your keys are {[*yours]}, expected {[*PROGRAMS]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches(name: str) -> None:
    """Your row lists the batch sizes in `BATCHES` that run."""
    yours, right = predicted()[name], measured(name)
    wrong = sorted({*yours} ^ {*right})

    assert not wrong, (
        f"{name} {PROGRAMS[name]}: yours is wrong about {len(wrong)} of the {len(BATCHES)} batches;"
        f" {RULES[name]}"
    )
