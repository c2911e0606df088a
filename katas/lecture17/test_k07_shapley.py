"""Tests of k07_shapley: the axioms that define Shapley values, and Captum where it is installed."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.k07_shapley import exact
from katas.lecture17.k07_shapley import sampled


if TYPE_CHECKING:
    from collections.abc import Callable

    Game = Callable[[torch.Tensor], torch.Tensor]


def table(n: int, seed: int) -> Game:
    """Return a game with an irrational value for each set; the empty set's value is not 0."""
    values = numbers(2**n, seed=seed)
    return lambda sets: values[(sets * 2 ** torch.arange(n)).sum(1)]


def brief(sets: torch.Tensor) -> torch.Tensor:
    """Return the values of the brief's picture."""
    return torch.tensor([0.0, 1.0, 3.0, 10.0]).double()[sets[:, 0] + 2 * sets[:, 1].long()]


def all_orders(n: int) -> torch.Tensor:
    """Return each order of n players."""
    return torch.tensor(list(permutations(range(n))))


def by_orders(v: Game, n: int) -> torch.Tensor:
    """Return the mean over all orders, by the definition: one set at a time."""
    total = torch.zeros(n).double()
    for order in permutations(range(n)):
        there = torch.zeros(1, n, dtype=torch.bool)
        before = v(there)[0]
        for player in order:
            there = there.clone()
            there[0, player] = True
            total[player] += v(there)[0] - before
            before = v(there)[0]
    return total / len(list(permutations(range(n))))


def features() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Return a network of five inputs, one row and its baseline."""
    torch.manual_seed(9)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    return model, numbers(1, 5), numbers(1, 5, seed=1)


def test_two_players() -> None:
    """The picture of the brief, over all sets and over both orders."""
    close(exact(brief, 2), [4.0, 6.0], "exact, of the brief's two players")
    close(sampled(brief, all_orders(2)), [4.0, 6.0], "sampled, over both orders")
    close(sampled(brief, torch.tensor([[0, 1]])), [1.0, 9.0], "sampled, over the order a, b")


def test_a_game_of_four() -> None:
    """All sets with their weights give the mean over all orders."""
    v = table(4, 2)

    close(exact(v, 4), by_orders(v, 4), "exact, of a game with 16 values")
    close(exact(table(1, 3), 1), numbers(2, seed=3).diff(), "one player earns v(all) - v(nobody)")


def test_orders() -> None:
    """An order lists players; its inverse says when each player comes."""
    v = table(3, 4)
    for order in permutations(range(3)):
        there, before, expected = torch.zeros(1, 3, dtype=torch.bool), None, torch.zeros(3).double()
        before = v(there)[0]
        for player in order:
            there[0, player] = True
            expected[player] = v(there)[0] - before
            before = v(there)[0]
        close(sampled(v, torch.tensor([order])), expected, f"order {order}")
    close(sampled(v, all_orders(3)), by_orders(v, 3), "the mean over all orders of 3")


@pytest.mark.parametrize("way", ["exact", "sampled"])
def test_efficiency(way: str) -> None:
    """Together all players get v(all) - v(nobody), in `sampled` too, whatever the orders."""
    v, some = table(6, 5), torch.stack([numbers(6, seed=s).argsort() for s in range(3)])
    yours = exact(v, 6) if way == "exact" else sampled(v, some)
    ends = v(torch.tensor([[True] * 6, [False] * 6]))

    close(yours.sum(), ends[0] - ends[1], f"{way}: the sum of the shares")


def test_symmetry_dummy_and_additivity() -> None:
    """Twins get equal shares, a dummy player gets what it earns alone, and games may be added."""
    v, w = table(3, 6), table(3, 7)

    def twins(sets: torch.Tensor) -> torch.Tensor:
        both = torch.stack([sets[:, :2].any(1), sets[:, :2].all(1), sets[:, 2]], 1)
        return v(both)

    def idle(sets: torch.Tensor) -> torch.Tensor:
        return v(sets & torch.tensor([True, False, True])) + 5 * sets[:, 1]

    shares = exact(twins, 3)
    close(shares[0], shares[1], "symmetry: players 0 and 1 may be swapped")
    close(exact(idle, 3)[1], 5.0, "dummy: player 1 adds 5 to any set")
    both = exact(lambda sets: v(sets) - 2 * w(sets), 3)
    close(both, exact(v, 3) - 2 * exact(w, 3), "additivity: of v - 2 w")


def test_one_call() -> None:
    """All sets are one batch, of bool."""
    calls, v = [], table(3, 8)

    def counted(sets: torch.Tensor) -> torch.Tensor:
        calls.append((sets.dtype, tuple(sets.shape)))
        return v(sets)

    exact(counted, 3)
    sampled(counted, all_orders(3)[:5])
    assert calls == [(torch.bool, (8, 3)), (torch.bool, (20, 3))], (
        f"your calls of v: {calls}; expected one of 8 sets, and one of 4 sets for each of 5 orders"
    )


def test_more_orders_are_nearer() -> None:
    """Features of a network: the error with 400 orders is below the error with 5."""
    model, x, base = features()

    def v(sets: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(torch.where(sets, x, base))[:, 1]
            return found

    dice = torch.Generator().manual_seed(0)
    orders = torch.stack([torch.randperm(5, generator=dice) for _ in range(400)])
    right = exact(v, 5)
    few, many = ((sampled(v, part) - right).abs().max() for part in (orders[:5], orders))
    assert many < few, (
        f"error with 5 orders {few:.1e}, with 400 {many:.1e}: your estimate does not get closer"
    )
    assert many < 0.02, f"with 400 orders yours is off by {many:.1e}"


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """Captum's ShapleyValues, which it computes in float32."""
    model, x, base = features()
    method = captum("attr.ShapleyValues", model)
    expected = quietly(method.attribute, x, baselines=base, target=1)[0].detach()

    def v(sets: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(torch.where(sets, x, base))[:, 1]
            return found

    close(exact(v, 5), expected, "Captum's", 1e-6)
