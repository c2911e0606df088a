"""Tests of k07_complex: ``backward`` runs for each loss, and is compared with your row."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from katas.lecture11 import k07_complex as kata
from katas.lecture11.k07_complex import LOSSES
from plugins.kit import forbids


# The rule behind each row. The answer itself is not stored: PyTorch computes it.
RULES = {
    "real": "a step along a changes L, a step along b does not",
    "imag": "a step along b changes L; along which axis of the plane does z.grad point?",
    "size": "away from 0, and one step of length 1 adds 1: how long is the gradient?",
    "square_size": "a² + b² is a real function of two numbers: take both partial derivatives",
    "square_real": "write z² with a and b, and keep what has no j: mind the sign of dL/db",
    "square_imag": "write z² with a and b, and keep what has a j: dL/da is not the larger one",
}


def gradient(name: str, at: complex) -> complex:
    """Return what ``.backward()`` leaves in ``z.grad``."""
    z = torch.tensor(at, dtype=torch.complex128, requires_grad=True)
    LOSSES[name](z).backward()
    assert z.grad is not None, f"PyTorch has no gradient of {name}"
    return complex(z.grad)


@cache
def predicted() -> dict[str, complex]:
    """Return your rows, which cannot import torch."""
    with forbids(kata) as fresh:
        rows = dict(fresh.predictions())
    for name, row in rows.items():
        if type(row) not in {int, float, complex}:
            raise AssertionError(f"{name}: expected a number such as 2 - 1j, yours is {row!r}")
    return rows


@pytest.mark.given
def test_a_step_against_it_goes_down() -> None:
    """A step to z - lr · z.grad decreases each loss, as an optimizer needs."""
    for name, loss in LOSSES.items():
        here = 3 + 4j
        there = here - 1e-3 * gradient(name, here)
        before, after = loss(torch.tensor(here)), loss(torch.tensor(there))
        assert after < before, f"{name}: {before:.4f} became {after:.4f}, expected a smaller loss"


def test_every_loss_is_predicted() -> None:
    """There is a number for each loss, there are no other rows, and no row needs torch."""
    yours = {*predicted()}

    assert {*LOSSES} == yours, f"yours has rows for {sorted(yours)}; expected {sorted(LOSSES)}"


@pytest.mark.parametrize("name", LOSSES)
def test_prediction(name: str) -> None:
    """Your number is PyTorch's gradient at 3 + 4j."""
    yours = predicted()[name]
    right = abs(yours - gradient(name, 3 + 4j)) < 1e-9
    if not right:
        raise AssertionError(
            f"{name}: {LOSSES[name].__doc__}\nyours  {yours}; PyTorch's is a different number\n"
            f"rule   z.grad = dL/da + dL/db · j: {RULES[name]}"
        )
