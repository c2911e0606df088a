"""Tests of k01_first_step: your rows are compared with steps taken by torch.optim."""

from __future__ import annotations

import pytest
import torch

from katas.lecture12 import k01_first_step as kata
from katas.lecture12.k01_first_step import STEPS
from katas.lecture12.k01_first_step import Step
from plugins.kit import forbids


LR, START = 0.1, 2.0
RULES = {
    "tiny": "what divides the gradient is as small as the gradient",
    "huge": "what divides the gradient is as large as the gradient; mind the sign",
    "like_eps": "compare sqrt(v^) with eps before you add them",
    "decay": "Adam adds the decay to the gradient, and then divides by the size of the sum",
    "adamw": "AdamW takes lr * weight_decay * parameter off the parameter, beside the step",
    "rmsprop": "RMSprop has no m and no correction of v: what is left of v after one gradient?",
}


def measure(step: Step) -> float:
    """Take the step with PyTorch, and return the move in units of lr."""
    p = torch.nn.Parameter(torch.tensor(START, dtype=torch.float64))
    optimizer = getattr(torch.optim, step.optimizer)([p], lr=LR, **step.settings)
    p.grad = torch.tensor(step.gradient, dtype=torch.float64)
    optimizer.step()
    return float(p.item() - START) / LR


def predicted() -> dict[str, float]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.moves(), fresh.moves()
        assert rows == again, "`moves` returns different rows when called again"
        return {str(name): float(move) for name, move in rows.items()}


@pytest.mark.given
@pytest.mark.parametrize("gradient", [5.0, 0.7])
def test_a_step_of_adam_is_as_long_as_lr(gradient: float) -> None:
    """A plain gradient: the example in the docstring."""
    assert measure(Step("Adam", gradient, {})) == pytest.approx(-1.0, abs=1e-6)


def test_every_step_is_there() -> None:
    """One row for each case and no others; your rows cannot call torch."""
    yours = set(predicted())
    assert yours == set(STEPS), f"you return rows for {sorted(yours)}, expected {sorted(STEPS)}"


@pytest.mark.parametrize("name", STEPS)
def test_move(name: str) -> None:
    """How far the parameter moves, in units of lr."""
    yours = predicted()[name]
    near = yours == pytest.approx(measure(STEPS[name]), abs=0.01)
    assert near, f"{name}: your {yours} differs from PyTorch's value. {RULES[name]}"
