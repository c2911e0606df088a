"""Tests of k08_five_answers: the shares are computed now, and your table is read without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture17 import k08_five_answers as kata
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    Shares = tuple[tuple[float, float], ...]


CASES: dict[str, tuple[Function, tuple[float, float]]] = {
    "product": (torch.mul, (2.0, 3.0)),
    "least": (torch.minimum, (1.0, 3.0)),
    "most": (torch.maximum, (1.0, 3.0)),
    "capped": (lambda a, b: 1 - torch.relu(1 - a - b), (1.0, 1.0)),
}
RULES = {
    "gradient": "the slope at the point itself, and nothing of the way there",
    "times": "the gradient at the point, times the point: a product is paid for twice",
    "integrated": "the mean slope on the straight line from (0, 0), times the point",
    "occlusion": "what is lost if one input alone is 0, and the other stays",
    "Shapley": "the mean of two orders: a first, and b first",
}


def slope(f: Function, at: tuple[float, float]) -> tuple[float, float]:
    """Return the gradient."""
    inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in at]
    a, b = torch.autograd.grad(f(*inputs), inputs)
    return a.item(), b.item()


def value(f: Function, a: float, b: float) -> float:
    """Return f of numbers."""
    return f(torch.tensor(a).double(), torch.tensor(b).double()).item()


def computed(f: Function, a: float, b: float) -> Shares:
    """Return the shares of all methods."""
    da, db = slope(f, (a, b))
    # An even number of midpoints: none is at the bend, which is in the middle.
    way = [slope(f, ((k + 0.5) / 100 * a, (k + 0.5) / 100 * b)) for k in range(100)]
    ia, ib = (sum(each) / 100 for each in zip(*way, strict=True))
    whole, nothing = value(f, a, b), value(f, 0.0, 0.0)
    only_a, only_b = value(f, a, 0.0), value(f, 0.0, b)
    return (
        (da, db),
        (da * a, db * b),
        (ia * a, ib * b),
        (whole - only_b, whole - only_a),
        ((only_a - nothing + whole - only_b) / 2, (only_b - nothing + whole - only_a) / 2),
    )


def predicted() -> dict[str, Shares]:
    """Return your table, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.shares(), fresh.shares()
        assert rows == again, "called again, `shares` returns a different table"
        found: dict[str, Shares] = rows
        return found


def test_every_function_has_five_pairs() -> None:
    """Each row has five pairs, in the order of METHODS."""
    rows = predicted()

    assert {*rows} == {*CASES}, f"yours has rows {sorted(rows)}, expected {sorted(CASES)}"
    odd = [name for name, row in rows.items() if [len(pair) for pair in row] != [2] * 5]
    assert not odd, f"expected five pairs in each row, but your rows {odd} have others"


@pytest.mark.parametrize("name", CASES)
def test_shares(name: str) -> None:
    """What each method says about a function."""
    f, at = CASES[name]
    yours, right = predicted()[name], computed(f, *at)
    rows = zip(kata.METHODS, yours, right, strict=True)
    missed = [method for method, mine, theirs in rows if mine != pytest.approx(theirs, abs=1e-9)]

    assert not missed, f"{name} at {at}: expected other shares for " + "; ".join(
        f"{method} ({RULES[method]})" for method in missed
    )
