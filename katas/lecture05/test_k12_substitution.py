"""Tests of k12_substitution: every program is run and compared with your prediction."""

from __future__ import annotations

import pytest
import torch

from katas.lecture05 import k12_substitution as kata
from katas.lecture05.k12_substitution import PROGRAMS
from plugins.kit import forbids


# What decides each program; the answer itself comes from PyTorch.
RULES = {
    "compare": "the result is a tensor, of bools, and comes out of __torch_function__",
    "shape": "a shape is a tuple; __torch_function__ converts tensors alone",
    "tensor": "a factory is given data, and whose data it is does not matter to it",
    "as_tensor": "what is a tensor already is handed back",
    "parameter": "only a plain tensor gets the class Parameter; another keeps its own",
    "linear": "a layer calls functions of torch, and these ask their arguments",
    "gradient": "the engine is C++ and computes with plain tensors",
    "out": "what is returned goes through __torch_function__, though what was written is plain",
    "written": "a write to a tensor leaves the Python object what it is",
    "numpy": "an array has no subclass of Tensor to remember",
    "rows": "iteration unbinds, which is an operator like others",
    "pickled": "the class is written down beside the storage",
}


class Tagged(torch.Tensor):
    """A subclass that adds nothing."""


def outcome(name: str) -> bool:
    """Run a program, and return whether the result is a Tagged."""
    return isinstance(PROGRAMS[name](torch.tensor([1.0, 2.0, 3.0]).as_subclass(Tagged)), Tagged)


def predicted() -> dict[str, bool]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        return dict(fresh.predictions())


@pytest.mark.given
def test_sums_of_the_brief() -> None:
    """A Tagged may be on either side of a plain tensor."""
    x = torch.ones(3).as_subclass(Tagged)
    found = type(x + 1), type(torch.ones(3) + x)

    assert (Tagged, Tagged) == found, f"the brief says Tagged and Tagged, PyTorch returns {found}"


def test_every_program_is_predicted() -> None:
    """Each row is True or False; your rows cannot call torch."""
    yours = predicted()

    assert {*PROGRAMS} == {*yours}, f"yours has rows for {sorted(yours)}; expected {[*PROGRAMS]}"
    wrong = [name for name, row in yours.items() if not isinstance(row, bool)]
    assert not wrong, f"yours is neither True nor False for {wrong}"


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """The prediction is whether the result is a Tagged."""
    row = predicted()[name]
    is_right = row == outcome(name)

    assert is_right, (
        f"{name}: {PROGRAMS[name].__doc__}\n"
        f"your row is {row}, but PyTorch disagrees\n"
        f"rule   {RULES[name]}"
    )
