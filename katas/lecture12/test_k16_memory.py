"""Tests of k16_memory: PyTorch trains, and the bytes of its tensors are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture12 import k16_memory as kata
from katas.lecture12.k16_memory import SITUATIONS
from katas.lecture12.k16_memory import Kept
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Iterable


RULES = {
    "sgd": (
        "backward makes a gradient as large as its parameter",
        "without momentum a step needs no step before it",
    ),
    "momentum": (
        "zero_grad() sets each .grad to None, unless set_to_none=False",
        "momentum is one buffer as large as the parameter, and zero_grad() is not about it",
    ),
    "adamw_built": (
        "a gradient is there as soon as backward has run",
        "state is made by the first step, so that a first step may still run out of memory",
    ),
    "adamw": (
        "a step reads the gradients, and leaves them",
        "two averages as large as the parameter, and a step number: a float32 for each tensor",
    ),
    "adamw_half": (
        "a gradient has the dtype of its parameter",
        "averages have the dtype of the parameter, the step number has its own",
    ),
    "adamw_frozen": (
        "what requires no gradient gets none",
        "a parameter without a gradient is skipped by the step, and gets no state",
    ),
}


def size_of(tensors: Iterable[torch.Tensor | None]) -> int:
    """Return the bytes of the storages of these tensors, each counted once."""
    storages = [x.untyped_storage() for x in tensors if x is not None]
    return sum({each.data_ptr(): each.nbytes() for each in storages}.values())


def measure(name: str) -> Kept:
    """Make the calls of the situation, and count bytes."""
    situation = SITUATIONS[name]
    model = torch.nn.Linear(300, 500, dtype=getattr(torch, situation.dtype))
    model.weight.requires_grad_("weight" in situation.trained)
    optimizer = getattr(torch.optim, situation.optimizer)(
        model.parameters(), lr=0.1, **situation.arguments
    )
    for call in situation.done:
        if call == "backward":
            model(torch.ones(2, 300, dtype=model.weight.dtype)).sum().backward()
        else:
            getattr(optimizer, call)()
    states = [x for each in optimizer.state.values() for x in each.values()]
    return Kept(
        size_of(parameter.grad for parameter in model.parameters()),
        size_of(x for x in states if isinstance(x, torch.Tensor)),
    )


def predicted() -> dict[str, tuple[set[type], int, int]]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.kept(), fresh.kept()
        assert rows == again, "`kept` returns different rows when called again"
        return {
            name: ({type(row.gradients), type(row.state)}, row.gradients, row.state)
            for name, row in rows.items()
        }


def test_every_situation_is_there() -> None:
    """One row for each situation and no others; your rows cannot call torch."""
    yours = set(predicted())
    assert yours == set(SITUATIONS), (
        f"you return rows for {sorted(yours)}, expected those of SITUATIONS"
    )


@pytest.mark.parametrize("name", SITUATIONS)
def test_row(name: str) -> None:
    """The bytes of gradients and of state."""
    kinds, gradients, state = predicted()[name]
    right = measure(name)

    assert kinds == {int}, (
        f"{name}: your row has {', '.join(kind.__name__ for kind in kinds)}, expected integers"
    )
    about_gradients, about_state = RULES[name]
    assert gradients == right.gradients, (
        f"{name}: your {gradients} bytes of gradients differ from PyTorch's: {about_gradients}"
    )
    assert state == right.state, (
        f"{name}: your {state} bytes of state differ from PyTorch's: {about_state}"
    )


@pytest.mark.given
def test_a_second_step_keeps_no_more() -> None:
    """State is created once: later steps write to the tensors that the first step created."""
    model = torch.nn.Linear(30, 50)
    optimizer = torch.optim.AdamW(model.parameters())
    places = []
    for _ in range(2):
        model(torch.ones(2, 30)).sum().backward()
        optimizer.step()
        places.append([x.data_ptr() for each in optimizer.state.values() for x in each.values()])
    assert places[0] == places[1], f"addresses of the state: {places[0]}, then {places[1]}"
