"""Tests of k01_race: multinomial with the same generator, and enumeration of all orders."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import permutations
from math import sqrt
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture24.k01_race import chance
from katas.lecture24.k01_race import one
from katas.lecture24.k01_race import several
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


P = torch.tensor([sqrt(2), 0.0, sqrt(3), sqrt(0.5), sqrt(7)], dtype=torch.float64) / 7


def dice(seed: int) -> torch.Generator:
    """Return a generator with a seed."""
    return torch.Generator().manual_seed(seed)


@contextmanager
def only_dice(p: torch.Tensor) -> Iterator[None]:
    """Check that p is not modified, and that the global generator is not used."""
    __tracebackhide__ = True
    with unchanged(p=p):
        before = torch.get_rng_state()
        yield
        same = torch.equal(before, torch.get_rng_state())
        assert same, (
            "your draw takes numbers from a different generator: use `dice`, not the global one"
        )


def test_one_token() -> None:
    """With the same generator, your token is multinomial's, seed after seed."""
    for seed in range(12):
        with only_dice(P):
            yours = one(P, dice(seed))
        right = torch.multinomial(P, 1, generator=dice(seed))
        assert yours.shape == (1,), f"yours has shape {[*yours.shape]}, expected [1]"
        assert yours.dtype == torch.int64, f"yours is {yours.dtype}, expected torch.int64"
        assert yours.tolist() == right.tolist(), (
            f"seed {seed}: yours {yours.tolist()}, multinomial's {right.tolist()}"
        )


def test_a_token_for_each_row() -> None:
    """Each row has its own race, in p of [3, 5] and of [2, 3, 5]; float32 works too."""
    rows = torch.stack([P, P.flip(0), P.roll(2)])
    for p in (rows, rows.float()):
        with only_dice(p):
            yours = one(p, dice(4))
        right = torch.multinomial(p, 1, generator=dice(4))
        assert yours.tolist() == right.tolist(), (
            f"p of [3, 5], {p.dtype}: yours {yours.tolist()}, multinomial's {right.tolist()}"
        )
    yours = one(torch.stack([rows, rows]), dice(4))
    assert yours.shape == (2, 3, 1), f"p [2, 3, 5]: yours {[*yours.shape]}, expected [2, 3, 1]"


def test_a_generator_goes_on() -> None:
    """Successive draws from one generator are those of multinomial."""
    yours, theirs = dice(5), dice(5)
    found = [int(one(P, yours)) for _ in range(20)]
    right = [int(torch.multinomial(P, 1, generator=theirs)) for _ in range(20)]
    assert found == right, f"20 draws: yours {found}, multinomial's {right}"


def test_several_in_order_of_arrival() -> None:
    """Draw 3 of 4 tokens without replacement, as multinomial does, for rows too."""
    rows = torch.stack([P, P.flip(0)])
    for seed in range(8):
        for p in (P, rows):
            with only_dice(p):
                yours = several(p, 3, dice(seed))
            right = torch.multinomial(p, 3, generator=dice(seed))
            assert yours.tolist() == right.tolist(), (
                f"seed {seed}: yours {yours.tolist()}, multinomial's {right.tolist()}"
            )


def test_no_token_is_left() -> None:
    """Asked for 3 of 2, multinomial silently returns a token of probability 0; you return -1."""
    p = torch.tensor([[0.0, 0.25, 0.75, 0.0], [0.0, 0.0, 0.0, 1e-300]], dtype=torch.float64)
    with only_dice(p):
        yours = several(p, 3, dice(1))
    assert {*yours[0, :2].tolist()} == {1, 2}, (
        f"{p[0].tolist()}: yours {yours[0].tolist()}, expected 1 and 2 first"
    )
    assert yours[0, 2] == -1, f"yours {yours[0].tolist()}, expected -1 as the third"
    assert yours[1].tolist() == [3, -1, -1], f"yours {yours[1].tolist()}, expected [3, -1, -1]"


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_chances(length: int) -> None:
    """Chances of all orders of a length sum to 1; those with one first token, to its own chance."""
    p = P / P.sum()
    all_orders = [[*order] for order in permutations([0, 2, 3, 4], length)]
    total = sum(chance(p, order) for order in all_orders)
    assert abs(total - 1) < 1e-12, (
        f"the chances of all orders of {length} add up to {total}, expected 1"
    )
    first = sum(chance(p, order) for order in all_orders if order[:1] == [3])
    right = p[3].item() if length else 0.0
    assert abs(first - right) < 1e-12, f"orders that begin with 3: yours {first}, expected {right}"


def test_the_chance_of_an_order() -> None:
    """0.5, then 0.3 of 0.5, then 0.2 of 0.2; a token of probability 0 never arrives."""
    p = torch.tensor([0.2, 0.5, 0.3, 0.0], dtype=torch.float64)
    for order, right in (([1, 2], 0.3), ([1, 2, 0], 0.3), ([0, 2], 0.075), ([3, 1], 0.0)):
        with only_dice(p):
            yours = chance(p, order)
        assert abs(yours - right) < 1e-12, (
            f"{order} of {p.tolist()}: yours {yours}, expected {right}"
        )
    p = torch.tensor([0.0, 0.5, 0.5, 0.0], dtype=torch.float64)
    try:
        yours = chance(p, [1, 2, 0])
    except ZeroDivisionError:
        message = f"[1, 2, 0] of {p.tolist()}: yours divides by the 0 that is left, expected 0.0"
        raise AssertionError(message) from None
    assert yours == 0, (
        f"[1, 2, 0] of {p.tolist()}: {yours}, expected 0.0: after 1 and 2 nothing is left, so 0"
        " never arrives"
    )


def test_draws_follow_the_chances() -> None:
    """4,000 draws of two: each order's share is its chance, within five standard deviations."""
    p = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    drawn = several(p.expand(4000, 3), 2, dice(7))
    for order in permutations(range(3), 2):
        share = (drawn == torch.tensor(order)).all(1).double().mean().item()
        right = chance(p, [*order])
        assert abs(share - right) < 5 * sqrt(right / 4000), (
            f"{order}: a share of {share:.3f} of 4,000 draws, expected its chance, {right:.3f}"
        )
