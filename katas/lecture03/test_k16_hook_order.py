"""Tests of k16_hook_order: every program is run and compared with your prediction."""

from __future__ import annotations

import pytest
import torch

from katas.lecture03 import k16_hook_order as kata
from katas.lecture03.k16_hook_order import PROGRAMS
from plugins.kit import forbids


# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "after_write": "a hook belongs to the value that the tensor has when it is registered",
    "first_of_two": "hooks run in the order in which they were registered",
    "second_of_two": "each hook gets what the one before it has returned",
    "used_twice": "a hook runs when all gradients of its value have been added",
    "written_view": "a write to a view is one to its base: which elements changed later?",
    "retained": "a hook stays with its value, retain_grad goes along with the tensor",
}


def predicted() -> dict[str, list[float]]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        return {name: [float(each) for each in row] for name, row in fresh.predictions().items()}


@pytest.mark.given
def test_a_hook_before_a_write() -> None:
    """The program of the brief: the hook sees the gradient of x before it was multiplied."""
    seen: list[list[float]] = []
    x = torch.ones(2, requires_grad=True) * 2
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.mul_(3)
    x.sum().backward()

    assert [[3.0, 3.0]] == seen, f"the brief says 3, PyTorch says {seen}"


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = set(predicted())

    assert set(PROGRAMS) == yours, f"yours has rows for {sorted(yours)}; expected {[*PROGRAMS]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """The prediction is what the program returns."""
    row = predicted()[name]
    is_right = PROGRAMS[name](torch.ones(2, requires_grad=True)) == row

    assert is_right, (
        f"{name}: {PROGRAMS[name].__doc__}\n"
        f"yours  {row}, which is not what PyTorch gives\n"
        f"rule   {RULES[name]}"
    )
