"""Tests of k10_cartpole: the given physics, pole by pole, and counted operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import vmap
from torch.overrides import TorchFunctionMode

from katas.lecture26.k10_cartpole import FAR
from katas.lecture26.k10_cartpole import TILTED
from katas.lecture26.k10_cartpole import play
from katas.lecture26.k10_cartpole import python_step
from katas.lecture26.k10_cartpole import search
from katas.lecture26.k10_cartpole import step
from plugins.kit import unchanged


GOOD = torch.tensor([0.1, 0.4, 1.5, 1.0], dtype=torch.float64)


def poles(count: int, seed: int = 0, spread: float = 0.05) -> torch.Tensor:
    """Return states near the middle."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(count, 4, generator=generator, dtype=torch.float64) * 2 - 1) * spread


def one_by_one(weights: torch.Tensor, states: torch.Tensor, steps: int) -> list[int]:
    """Return how many steps each pole stands, by the given physics."""
    scores = []
    for pole in states.tolist():
        state, score, ended = tuple(pole), 0, False
        while not ended and score < steps:
            dot = sum(a * b for a, b in zip(state, weights.tolist(), strict=True))
            state, ended = python_step(state, int(dot > 0))  # type: ignore[arg-type]
            score += 1
        scores.append(score)
    return scores


def check_step(state: list[float], action: int, why: str) -> None:
    """Compare one step of one pole with the given physics."""
    before = torch.tensor(state, dtype=torch.float64)
    with unchanged(state=before):
        after, ended = step(before, torch.tensor(action))
    expected, end = python_step(tuple(state), action)  # type: ignore[arg-type]
    assert after.dtype == torch.float64, f"the state is {after.dtype}, expected torch.float64"
    torch.testing.assert_close(
        after,
        torch.tensor(expected, dtype=torch.float64),
        rtol=1e-12,
        atol=1e-14,
        msg=f"{why}: from {state} with action {action}: yours {after.tolist()}, expected "
        f"{[*expected]}",
    )
    assert ended.dtype == torch.bool, f"ended is {ended.dtype}, expected torch.bool"
    assert bool(ended) == end, (
        f"{why}: {state} becomes {[*expected]}; ended is {bool(ended)}, expected {end}"
    )


def test_a_push_to_either_side() -> None:
    """The pole starts from rest, and from a state with no zero in it."""
    for action in (1, 0):
        check_step([0.0, 0.0, 0.0, 0.0], action, "from rest")
        check_step([0.3, -0.7, 0.11, 0.9], action, "in motion")
        check_step([-0.3, 0.7, -0.13, -2.1], action, "in motion")


def test_an_episode_ends() -> None:
    """A pole too far off or too tilted, on either side, ends the episode after the step."""
    for sign in (1, -1):
        check_step([sign * 2.39, sign * 1.0, 0.0, 0.0], 1, "it goes too far")
        check_step([sign * 2.41, -sign * 1.0, 0.0, 0.0], 1, "it comes back")
        check_step([0.0, 0.0, sign * 0.2, sign * 1.0], 0, "it tilts too much")
        check_step([0.0, 0.0, sign * 0.22, -sign * 1.0], 0, "it rises")
    check_step([FAR, 0.0, TILTED, 0.0], 1, "at both limits, and not beyond")


def test_many_poles_by_vmap() -> None:
    """Each pole has its own action, of int64 or bool, in each float dtype."""
    states = poles(64, spread=3.0)
    actions = torch.arange(64) % 2
    after, ended = vmap(step)(states, actions)
    expected = [
        python_step(tuple(state), action)  # type: ignore[arg-type]
        for state, action in zip(states.tolist(), actions.tolist(), strict=True)
    ]
    wanted = torch.tensor([state for state, _ in expected], dtype=torch.float64)
    torch.testing.assert_close(after, wanted, rtol=1e-12, atol=1e-14, msg="64 poles by vmap differ")
    assert ended.tolist() == [end for _, end in expected], "ended is wrong for some of 64 poles"
    again, _ = vmap(step)(states, actions.bool())
    assert torch.equal(again, after), (
        "bool actions give different states: True is a push to the right"
    )
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        small, _ = vmap(step)(states.to(dtype), actions)
        assert small.dtype == dtype, (
            f"{dtype} states become {small.dtype}: which dtype does the force have? From "
            "two numbers, where creates a tensor of the default dtype"
        )
        alone, _ = step(states[0].to(dtype), actions[0])
        assert alone.dtype == dtype, f"a {dtype} state becomes {alone.dtype}, expected {dtype}"


def test_scores_of_one_pole() -> None:
    """One policy always pushes left, and one balances the pole."""
    for weights in (torch.zeros(4, dtype=torch.float64), GOOD):
        for steps in (5, 60):
            states = poles(1, seed=3)
            yours = play(weights, states, steps)
            expected = one_by_one(weights, states, steps)
            assert yours.tolist() == expected, (
                f"weights {weights.tolist()}, {steps} steps: yours {yours.tolist()}, expected "
                f"{expected}: count the step in which it falls, and push left at "
                "state @ weights == 0"
            )


def test_what_has_ended_stays_so() -> None:
    """A pole that comes back within the limits stays fallen."""
    states = torch.tensor([[0, 0, 0.2, 1.0], [0, 0, -0.2, -1.0], [0, 0, 0.01, 0]]).double()
    yours, expected = play(GOOD, states, 30), one_by_one(GOOD, states, 30)

    assert yours.tolist() == expected, (
        f"scores {yours.tolist()}, expected {expected}: the first two poles tilt too much in their "
        "first step, and rise later"
    )


def test_scores_of_many_poles() -> None:
    """Poles fall at different times; the states do not change."""
    states, weights = poles(50, seed=1, spread=0.2), torch.tensor([0.3, -0.2, 1.0, 0.1]).double()
    with unchanged(states=states, weights=weights):
        yours = play(weights, states, 80)
    expected = one_by_one(weights, states, 80)

    assert yours.dtype == torch.int64, f"scores are {yours.dtype}, expected torch.int64"
    assert yours.tolist() == expected, f"yours {yours.tolist()}\nexpected {expected}"


def test_no_step() -> None:
    """In zero steps each score is 0."""
    yours = play(GOOD, poles(3), 0)
    assert yours.tolist() == [0, 0, 0], f"scores after 0 steps: {yours.tolist()}, expected 0 each"
    assert yours.dtype == torch.int64, (
        f"scores after 0 steps are {yours.dtype}, expected torch.int64"
    )


class Count(TorchFunctionMode):
    """Counts calls of PyTorch, including those inside vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the call, and make it."""
        self.count += 1
        return func(*args, **(kwargs or {}))


def counted(call: Any) -> int:
    """Return how many operators a call takes."""
    with Count() as counter:
        call()
    return counter.count


def test_as_many_operators_for_all() -> None:
    """4096 poles take as many operators as one, and few enough for one pass per step."""
    states = {n: poles(n) for n in (1, 4096)}
    counts = {n: counted(lambda n=n: play(GOOD, states[n], 20)) for n in states}

    assert counts[4096] <= counts[1] + 20, (
        f"operators of 20 steps, by poles: {counts}, expected the same"
    )
    assert counts[1] < 20 * 200, f"{counts[1] / 20:.0f} operators per step, expected fewer than 200"


def test_the_best_policy() -> None:
    """The sum over 8 poles chooses the best of 16; the maximum and the median choose others."""
    states = poles(8, seed=5, spread=0.1)
    candidates = torch.randn(16, 4, generator=torch.Generator().manual_seed(10)).double()
    scores = [sum(one_by_one(weights, states, 100)) for weights in candidates]
    with unchanged(candidates=candidates, states=states):
        yours = search(candidates, states, 100)
    expected = candidates[scores.index(max(scores))]

    assert torch.equal(yours, expected), (
        f"yours {yours.tolist()}, expected {expected.tolist()}: sums over the 8 poles are {scores}"
    )


def test_the_first_of_equals() -> None:
    """Doubled weights push to the same side, so the first of equal candidates wins."""
    candidates = torch.stack([-GOOD, 2 * GOOD, GOOD, 3 * GOOD])
    yours = search(candidates, poles(4), 60)

    assert torch.equal(yours, 2 * GOOD), (
        f"candidates 1, 2 and 3 of {candidates.tolist()} have the same sum: yours "
        f"{yours.tolist()}, expected the first of them"
    )


def test_as_many_operators_for_all_policies() -> None:
    """One policy takes as many operators as 64."""
    states, many = poles(16), torch.randn(64, 4).double()
    counts = {n: counted(lambda n=n: search(many[:n], states, 10)) for n in (1, 64)}

    assert counts[64] <= counts[1] + 40, (
        f"operators that `search` runs, by number of policies: {counts}, expected equal counts"
    )


@pytest.mark.backend("torchrl")
def test_gymnasium_agrees() -> None:
    """Gymnasium's states agree to twelve digits, in float64."""
    import gymnasium  # noqa: PLC0415 - optional

    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    state, ended = torch.tensor(env.state, dtype=torch.float64), False
    for number in range(40):
        if ended:
            break
        action = number % 3 % 2
        _, _, end, _, _ = env.step(action)
        state, yours = step(state, torch.tensor(action))
        theirs = torch.tensor(env.state, dtype=torch.float64)
        assert torch.allclose(state, theirs, rtol=1e-12, atol=1e-14), (
            f"step {number}: yours {state.tolist()}, Gymnasium's {theirs.tolist()}"
        )
        assert bool(yours) == end, f"step {number}: ended is {bool(yours)}, Gymnasium's {end}"
        ended = end
