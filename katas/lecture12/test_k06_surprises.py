"""Tests of k06_surprises: your rows are compared with runs of the programs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler

from katas.lecture12 import k06_surprises as kata
from katas.lecture12.k06_surprises import PROGRAMS
from plugins.kit import forbids


RULES = {
    "constructor": "a scheduler takes its step 0 when it is built",
    "built_again": "each constructor multiplies the lr that it finds",
    "after_the_end": "T_max is half a period of a cosine, and no end",
    "edit_exponential": "it reads the lr of the group, and multiplies",
    "edit_lambda": "it asks its function and the first lr, and not the lr of the group",
    "edit_milestone": "at a milestone the next one begins from the first lr, at its own t = 0",
}


def measure(program: str) -> float:
    """Run a program, and return the lr at its end."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    group = optimizer.param_groups[0]

    def run(scheduler: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.step()
            scheduler.step()

    names = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__}
    names |= {"optimizer": optimizer, "run": run, "set_lr": lambda lr: group.update(lr=lr)}
    with warnings.catch_warnings():
        # Earlier versions warn that their own closed form is deprecated.
        warnings.simplefilter("ignore")
        exec(program, names)  # noqa: S102 - the programs are those of the exercise
    return float(group["lr"])


def predicted() -> dict[str, float]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.last_lr(), fresh.last_lr()
        assert rows == again, "`last_lr` returns different rows when called again"
        return {str(name): float(lr) for name, lr in rows.items()}


@pytest.mark.given
def test_a_program_without_surprises() -> None:
    """ExponentialLR, two steps: the lr is halved twice."""
    assert measure("run(ExponentialLR(optimizer, gamma=0.5), steps=2)") == 0.25


def test_every_program_is_there() -> None:
    """One row for each program and no others; your rows cannot call torch."""
    yours = set(predicted())
    assert yours == set(PROGRAMS), f"you return rows for {sorted(yours)}, expected {[*PROGRAMS]}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_lr(name: str) -> None:
    """The lr at the end of the program."""
    yours = predicted()[name]
    near = yours == pytest.approx(measure(PROGRAMS[name]), abs=1e-4)
    assert near, f"{name}: your {yours} differs from PyTorch's lr. {RULES[name]}"
