"""Tests of k12_after_the_end: compare rows from corridors with rows by hand and by a loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture26.k12_after_the_end import Corridors
from katas.lecture26.k12_after_the_end import collect


def ahead(obs: torch.Tensor) -> torch.Tensor:
    """Move on in every corridor."""
    return torch.ones_like(obs)


def rows_of(env: Corridors, policy: Any, steps: int) -> list[tuple[int, ...]]:
    """Return obs, action, reward, next and final of each of your rows."""
    rows = collect(env, policy, steps)
    names = ("obs", "action", "reward", "next", "final")
    assert sorted(rows) == sorted(names), (
        f"your rows have the names {sorted(rows)}, expected {names}"
    )
    assert rows["final"].dtype == torch.bool, f"final is {rows['final'].dtype}, expected a bool"
    return [*zip(*(rows[name].int().tolist() for name in names), strict=True)]


def check(yours: list[tuple[int, ...]], expected: list[tuple[int, ...]], why: str) -> None:
    """Compare rows, whose numbers are obs, action, reward, next, final."""
    assert yours == expected, (
        f"{why}; rows of (obs, action, reward, next, final):\nyours    {yours}\nexpected {expected}"
    )


def test_one_corridor() -> None:
    """Two steps lead to the end, one resets, and two lead to the end again."""
    first, last = (0, 1, 0, 1, 0), (1, 1, 1, 2, 1)
    yours = rows_of(Corridors([2], 9), ahead, 5)

    check(yours, [first, last, first, last], "5 steps of a corridor of 2, whose third only resets")


def test_the_time_limit_is_not_an_end() -> None:
    """An episode that was cut off has a future: its row is not final, and the next step resets."""
    rows = [(0, 1, 0, 1, 0), (1, 1, 1, 2, 0), (2, 1, 2, 3, 0)]
    yours = rows_of(Corridors([9], 3), ahead, 7)

    check(yours, rows * 2, "7 steps of a corridor of 9 with a limit of 3")


def test_corridors_end_apart() -> None:
    """Only a corridor that has ended is left out, and only once."""
    yours = rows_of(Corridors([1, 3], 9), ahead, 4)
    short, long = (0, 1, 0, 1, 1), [(0, 1, 0, 1, 0), (1, 1, 1, 2, 0), (2, 1, 2, 3, 1)]

    check(yours, [short, long[0], long[1], short, long[2]], "4 steps of corridors of 1 and 3")


def test_a_reward_of_nothing_is_a_row() -> None:
    """The first step of an episode earns 0, whatever the action: it is still a row."""
    turns = iter([0, 0, 1, 1, 0, 1])
    yours = rows_of(Corridors([1], 9), lambda obs: torch.full_like(obs, next(turns)), 6)
    expected = [(0, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 1, 0, 1, 1), (0, 0, 0, 0, 0), (0, 1, 0, 1, 1)]

    check(yours, expected, "a corridor of 1, where one waits: actions 0 0 1 1 0 1")
    yours = rows_of(Corridors([5], 2), torch.zeros_like, 6)
    check(
        yours, [(0, 0, 0, 0, 0)] * 4, "6 steps of waiting, limit 2: the third and the sixth reset"
    )


def test_end_and_limit_at_once() -> None:
    """With a limit of 2, a corridor of length 2 ends, and one of length 3 is cut off."""
    yours = rows_of(Corridors([2, 3], 2), ahead, 3)
    first = (0, 1, 0, 1, 0)

    check(yours, [first, first, (1, 1, 1, 2, 1), (1, 1, 1, 2, 0)], "3 steps, limit 2")


def test_a_second_collection_begins_anew() -> None:
    """A corridor that ended in the last step of the first collection is reset by `reset`."""
    env = Corridors([2], 9)
    first, last = (0, 1, 0, 1, 0), (1, 1, 1, 2, 1)
    check(rows_of(env, ahead, 3), [first, last], "3 steps of a corridor of 2")
    check(rows_of(env, ahead, 2), [first, last], "then, anew, 2 steps")
    check(rows_of(env, ahead, 1), [first], "then, anew, 1 step")


@pytest.mark.backend("torchrl")
def test_gymnasium_does_it_too() -> None:
    """In CartPole, no row leads from the end of one episode to the start of the next."""
    import gymnasium  # noqa: PLC0415 - optional

    class Poles:
        """Gymnasium's poles, with tensors."""

        envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")

        def reset(self) -> torch.Tensor:
            """Begin."""
            return torch.from_numpy(self.envs.reset(seed=1)[0])[:, 0]

        def step(self, action: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Go on."""
            obs, *others, _ = self.envs.step(action.numpy())
            return torch.from_numpy(obs)[:, 0], *map(torch.from_numpy, others)

    rows: Any = collect(Poles(), lambda obs: torch.ones_like(obs).long(), 40)  # type: ignore[arg-type]
    assert (rows["reward"] == 1).all(), (
        f"rewards {rows['reward'].tolist()}: some rows belong to a reset"
    )
    assert rows["final"].any(), "expected a final row: no pole has fallen"
