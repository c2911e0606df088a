"""Tests of k03_gae: sums by their definition, one episode at a time, in plain Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture26.k03_gae import Rollout
from katas.lecture26.k03_gae import gae
from katas.lecture26.k03_gae import returns
from plugins.kit import unchanged


TIGHT = 1e-12


def rollout(*size: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Rollout:
    """Return irrational numbers; a third of the steps are done, and half of these terminated."""
    dice = torch.Generator().manual_seed(seed)
    numbers = torch.randn(3, *size, generator=dice, dtype=dtype)
    reward, value, following = (x.clone() for x in numbers)
    end = torch.rand(size, generator=dice)
    return Rollout(reward, value, following, end < 1 / 6, end < 1 / 3)


def picture(*terminated: int) -> Rollout:
    """Return the five steps of the brief: rewards 1, next values 8, values 2."""
    ones = torch.ones(5, dtype=torch.float64)
    marks = torch.arange(5)
    done = marks == 2
    over = torch.isin(marks, torch.tensor(terminated or [-1]))
    return Rollout(ones, 2 * ones, 8 * ones, over, done | over)


def rows(steps: Rollout) -> list[list[tuple[Any, ...]]]:
    """Return each row's steps, as Python numbers."""
    time = steps.reward.shape[-1]
    columns = [x.reshape(-1, time).tolist() for x in steps]
    return [[*zip(*row, strict=True)] for row in zip(*columns, strict=True)]


def returns_by_sums(steps: Rollout, gamma: float) -> torch.Tensor:
    """Return the sum of the rewards from each step to its episode's end, and the value after it."""
    found = []
    for row in rows(steps):
        for start in range(len(row)):
            total, factor = 0.0, 1.0
            for t in range(start, len(row)):
                reward, _, following, terminated, done = row[t]
                total, factor = total + factor * reward, factor * gamma
                if done or t == len(row) - 1:
                    total += 0.0 if terminated else factor * following
                    break
            found.append(total)
    return torch.tensor(found, dtype=torch.float64).view(steps.reward.shape)


def gae_by_sums(steps: Rollout, gamma: float, lam: float) -> torch.Tensor:
    """Return the sum of the deltas from each step to its episode's end."""
    found = []
    for row in rows(steps):
        for start in range(len(row)):
            total, factor = 0.0, 1.0
            for reward, value, following, terminated, done in row[start:]:
                total += factor * (reward + gamma * (0 if terminated else following) - value)
                factor *= gamma * lam
                if done:
                    break
            found.append(total)
    return torch.tensor(found, dtype=torch.float64).view(steps.reward.shape)


def close(yours: torch.Tensor, expected: Any, why: str, tolerance: float = TIGHT) -> None:
    """Compare tensors, in float64 to twelve digits."""
    __tracebackhide__ = True
    right = torch.as_tensor(expected, dtype=torch.float64)
    if tolerance == TIGHT:
        assert yours.dtype is torch.float64, f"{why}: yours is {yours.dtype}, expected float64"
    torch.testing.assert_close(
        yours.double(),
        right,
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: (
            f"{why}\nyours {yours.flatten()[:8].tolist()}\nexpected "
            f"{right.flatten()[:8].tolist()} (the first 8 at most)\n{text.splitlines()[0]}"
        ),
    )


def test_returns_of_the_picture() -> None:
    """Step 2 is cut off, so V' replaces the rest: 1 + 0.5 * 8; the last step works the same."""
    yours = returns(picture(), 0.5)

    close(yours, [2.75, 3.5, 5.0, 3.5, 5.0], "returns of the picture, nothing terminated")


def test_returns_where_the_agent_fell() -> None:
    """Step 2 has no future, nor does step 4 if it is terminated: the critic's value is ignored."""
    close(returns(picture(2), 0.5), [1.75, 1.5, 1.0, 3.5, 5.0], "returns, step 2 terminated")
    close(returns(picture(2, 4), 0.5), [1.75, 1.5, 1.0, 1.5, 1.0], "returns, 2 and 4 terminated")


@pytest.mark.parametrize("size", [(9,), (4, 12), (2, 3, 7)])
def test_returns_by_definition(size: tuple[int, ...]) -> None:
    """Rows do not mix, whatever the number of batch dims; time is the last dim."""
    steps = rollout(*size)
    with unchanged(**steps._asdict()):
        yours = returns(steps, 0.9)

    close(yours, returns_by_sums(steps, 0.9), f"returns of rollouts {[*size]}: sums, step by step")


def test_deltas() -> None:
    """With lam 0 an advantage is its own delta; V' is also used where the step is cut off."""
    yours, target = gae(picture(), 0.5, 0.0)
    close(yours, [3.0] * 5, "delta is 1 + 0.5 * 8 - 2 in each step")
    close(target, [5.0] * 5, "the target is advantage + value")
    yours, _ = gae(picture(2), 0.5, 0.0)
    close(yours, [3.0, 3.0, -1.0, 3.0, 3.0], "in step 2, terminated, it is 1 - 2")


def test_advantages_stop_where_an_episode_is_done() -> None:
    """The next episode's advantage does not flow back, whether a step is cut off or ended."""
    yours, _ = gae(picture(), 0.5, 0.5)
    close(yours, [3.9375, 3.75, 3.0, 3.75, 3.0], "deltas of 3, cut off after step 2")
    yours, _ = gae(picture(2), 0.5, 0.5)
    close(yours, [3.6875, 2.75, -1.0, 3.75, 3.0], "step 2 is terminated: its delta is -1")


@pytest.mark.parametrize("size", [(1,), (9,), (4, 12), (2, 3, 7)])
def test_gae_by_definition(size: tuple[int, ...]) -> None:
    """An advantage is the discounted sum of its episode's deltas."""
    steps = rollout(*size, seed=1)
    with unchanged(**steps._asdict()):
        yours, target = gae(steps, 0.9, 0.8)

    right = gae_by_sums(steps, 0.9, 0.8)
    close(yours, right, f"advantages of rollouts {[*size]}: sums of deltas, step by step")
    close(target, right + steps.value, "the target is advantage + value")


@pytest.mark.parametrize("anything", [float("nan"), float("inf")])
def test_what_a_critic_says_after_the_end(anything: float) -> None:
    """V' of a terminated step counts as 0, but 0 times NaN is not 0."""
    steps = picture(2)
    steps.next_value[2] = anything
    why = f"step 2 is terminated, and its V' is {anything}: times 0 it is NaN, so replace it"
    close(returns(steps, 0.5), [1.75, 1.5, 1.0, 3.5, 5.0], f"returns; {why}")
    close(gae(steps, 0.5, 0.5)[0], [3.6875, 2.75, -1.0, 3.75, 3.0], f"advantages; {why}")


def test_lam_1_is_the_return() -> None:
    """If V' is the next step's value, deltas telescope: what is left is the return."""
    steps = rollout(3, 8, seed=2)
    following = torch.cat([steps.value[:, 1:], steps.next_value[:, -1:]], 1)
    steps = steps._replace(next_value=torch.where(steps.done, steps.next_value, following))
    _, target = gae(steps, 0.9, 1.0)

    close(target, returns(steps, 0.9), "the target with lam 1 is your return")


def test_no_gradient() -> None:
    """A critic learns only from its own loss; a gradient through a target would move the target."""
    steps = rollout(2, 5)
    steps = steps._replace(
        value=steps.value.requires_grad_(), next_value=steps.next_value.requires_grad_()
    )
    with torch.enable_grad(), unchanged(**steps._asdict()):
        found = {"returns": returns(steps, 0.9)}
        found["advantage"], found["target"] = gae(steps, 0.9, 0.8)
    for name, yours in found.items():
        assert not yours.requires_grad, f"{name}: yours requires grad, expected only numbers"


def test_dtype() -> None:
    """If rewards are float32, returns and advantages are too."""
    steps = rollout(2, 6, dtype=torch.float32)
    found = {"returns": returns(steps, 0.9)}
    found["advantage"], found["target"] = gae(steps, 0.9, 0.8)
    for name, yours in found.items():
        assert yours.dtype is torch.float32, f"{name}: yours {yours.dtype}, expected float32"
    close(found["returns"], returns_by_sums(steps, 0.9), "returns in float32", 1e-5)


@pytest.mark.backend("torchrl")
def test_torchrl_agrees() -> None:
    """TorchRL's own loop agrees; there time is the second-to-last dim."""
    from torchrl.objectives.value import functional  # noqa: PLC0415 - optional

    steps = rollout(4, 12, seed=3)
    reward, value, following, terminated, done = (x.unsqueeze(-1) for x in steps)
    compute = functional.generalized_advantage_estimate
    theirs = compute(0.9, 0.8, value, following, reward, done, terminated)
    for yours, right, name in zip(
        gae(steps, 0.9, 0.8), theirs, ("advantage", "target"), strict=True
    ):
        close(yours, right.squeeze(-1), f"TorchRL's {name}", 1e-6)
