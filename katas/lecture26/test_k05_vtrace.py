"""Tests of k05_vtrace: a row on paper, sums by the paper's definition, and an unmoved policy."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture26.k05_vtrace import Rollout
from katas.lecture26.k05_vtrace import vtrace
from katas.lecture26.k05_vtrace import weights
from plugins.kit import unchanged


TIGHT = 1e-12


def rollout(*size: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Rollout:
    """Return irrational numbers; a third of the steps are done, and half of these terminated."""
    dice = torch.Generator().manual_seed(seed)
    numbers = torch.randn(3, *size, generator=dice, dtype=dtype)
    reward, value, following = (x.clone() for x in numbers)
    end = torch.rand(size, generator=dice)
    return Rollout(reward, value, following, end < 1 / 6, end < 1 / 3)


def factors(*size: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a rho and a c that are independent of each other."""
    dice = torch.Generator().manual_seed(100 + seed)
    rho, c = torch.rand(2, *size, generator=dice, dtype=torch.float64).unbind()
    return 2 * rho, c


def row(*numbers: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(numbers, dtype=torch.float64)


def three(*, terminated: bool = False, done: bool = False) -> Rollout:
    """Return three steps: rewards 1, V 2, V' 4; the middle step may end or be cut off."""
    middle = torch.tensor([False, True, False])
    ones = torch.ones(3, dtype=torch.float64)
    return Rollout(ones, 2 * ones, 4 * ones, middle & terminated, middle & (done or terminated))


def by_sums(
    steps: Rollout, rho: torch.Tensor, c: torch.Tensor, gamma: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return advantages and targets by equation (1) of the paper, one step at a time."""
    time, advantages, targets = steps.reward.shape[-1], list[float](), list[float]()
    columns = [x.reshape(-1, time).tolist() for x in (*steps, rho, c)]
    for cells in zip(*columns, strict=True):
        reward, value, following, terminated, done, weight, trace = cells
        found = []
        for start in range(time):
            total, factor = value[start], 1.0
            for t in range(start, time):
                after = 0.0 if terminated[t] else gamma * following[t]
                total += factor * weight[t] * (reward[t] + after - value[t])
                factor *= gamma * trace[t]
                if done[t]:
                    break
            found.append(total)
        for t in range(time):
            last = done[t] or t == time - 1
            after = following[t] if last else found[t + 1]
            after = 0.0 if terminated[t] else after
            advantages.append(weight[t] * (reward[t] + gamma * after - value[t]))
        targets += found
    shape = steps.reward.shape
    return row(*advantages).view(shape), row(*targets).view(shape)


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


def test_two_clips() -> None:
    """For weights of 1/2, 1, 3 and 8, each clip lowers larger weights and raises none."""
    log_mu = row(-1.0, -0.3, -2.0, -5.0)
    log_pi = log_mu + row(0.5, 1.0, 3.0, 8.0).log()
    with unchanged(log_pi, log_mu):
        rho, c = weights(log_pi, log_mu, 4.0, 1.0)

    close(rho, [0.5, 1.0, 3.0, 4.0], "rho, clipped at 4 (2 for 0.5: you divide mu by pi)")
    close(c, [0.5, 1.0, 1.0, 1.0], "c, clipped at 1")
    rho, c = weights(log_pi, log_mu, 1.0, 2.0)
    close(rho, [0.5, 1.0, 1.0, 1.0], "rho, clipped at 1")
    close(c, [0.5, 1.0, 2.0, 2.0], "c, clipped at 2: it has its own clip")
    rho, c = weights(row(-2.0) + row(0.1).log(), row(-2.0), 0.5, 0.25)
    close(rho, [0.1], "rho of weight 0.1, clipped at 0.5: there is no lower bound")
    close(c, [0.1], "c of weight 0.1, clipped at 0.25: there is no lower bound")


def test_improbable_actions() -> None:
    """Probabilities of e ** -1000 are 0 in float64; their ratio is an ordinary number."""
    rho, c = weights(row(-1000.0, -1000.0), row(-1000.0, -1001.0), 4.0, 2.0)
    why = "of logarithms -1000: do not divide probabilities, 0 / 0 is NaN"
    close(rho, [1.0, row(1.0).exp().item()], f"rho {why}")
    close(c, [1.0, 2.0], f"c {why}")


def test_one_row_on_paper() -> None:
    """No step is done; gamma 0.5, rho 2 and c 1/2, so each delta is 2 (1 + 2 - 2) = 2."""
    ones = torch.ones(3, dtype=torch.float64)
    advantage, target = vtrace(three(), 2 * ones, ones / 2, 0.5)

    close(target, [4.625, 4.5, 4.0], "targets: V + delta + a quarter of the next target less V")
    close(advantage, [2.5, 2.0, 2.0], "advantages: the last step has no next one: V' follows")


def test_a_step_that_ends() -> None:
    """Nothing follows the middle step: its delta is 2 (1 - 2)."""
    ones = torch.ones(3, dtype=torch.float64)
    advantage, target = vtrace(three(terminated=True), 2 * ones, ones / 2, 0.5)

    close(target, [3.5, 0.0, 4.0], "targets, the middle step terminated")
    close(advantage, [-2.0, -2.0, 2.0], "advantages, the middle step terminated: 0 follows it")


def test_a_step_that_is_cut_off() -> None:
    """V' follows the middle step; the next column belongs to another episode."""
    ones = torch.ones(3, dtype=torch.float64)
    steps = three(done=True)._replace(next_value=row(4.0, 6.0, 4.0))
    advantage, target = vtrace(steps, 2 * ones, ones / 2, 0.5)

    close(target, [5.0, 6.0, 4.0], "targets, cut off after the middle step, whose V' is 6")
    close(advantage, [4.0, 4.0, 2.0], "advantages, cut off after the middle step: V' follows it")


@pytest.mark.parametrize("anything", [float("nan"), float("inf")])
def test_what_a_critic_says_after_the_end(anything: float) -> None:
    """V' of a terminated step counts as 0, but 0 times NaN is not 0."""
    ones, steps = torch.ones(3, dtype=torch.float64), three(terminated=True)
    steps.next_value[1] = anything
    advantage, target = vtrace(steps, 2 * ones, ones / 2, 0.5)

    why = f"the middle step is terminated, and its V' is {anything}: replace it, times 0 it is NaN"
    close(target, [3.5, 0.0, 4.0], f"targets; {why}")
    close(advantage, [-2.0, -2.0, 2.0], f"advantages; {why}")


@pytest.mark.parametrize("size", [(1,), (9,), (4, 12), (2, 3, 7)])
def test_by_definition(size: tuple[int, ...]) -> None:
    """Targets are sums of deltas, each times the product of the c before it."""
    steps, (rho, c) = rollout(*size), factors(*size)
    with unchanged(**steps._asdict(), rho=rho, c=c):
        advantage, target = vtrace(steps, rho, c, 0.9)

    right = by_sums(steps, rho, c, 0.9)
    close(target, right[1], f"targets of {[*size]}: sums, step by step")
    close(advantage, right[0], f"advantages of {[*size]}")


def test_a_policy_that_has_not_moved() -> None:
    """All weights are 1: the target is that of GAE with lam 1."""
    steps = rollout(3, 10, seed=4)
    log = -rollout(3, 10, seed=5).reward.abs()
    _, target = vtrace(steps, *weights(log, log.clone(), 1.0, 1.0), 0.9)

    ones = torch.ones(3, 10, dtype=torch.float64)
    close(target, by_sums(steps, ones, ones, 0.9)[1], "targets where pi is mu: all weights 1")


def test_no_gradient() -> None:
    """A policy's gradient comes from its own loss, and a critic's from its own."""
    steps, log = rollout(2, 5), rollout(2, 5, seed=1).reward.requires_grad_()
    steps = steps._replace(
        value=steps.value.requires_grad_(), next_value=steps.next_value.requires_grad_()
    )
    with torch.enable_grad(), unchanged(**steps._asdict(), log=log):
        rho, c = weights(log, log.detach() + 0.1, 1.0, 1.0)
        advantage, target = vtrace(steps, rho, c, 0.9)
    found = {"rho": rho, "c": c, "advantage": advantage, "target": target}
    for name, yours in found.items():
        assert not yours.requires_grad, f"{name}: yours requires grad, expected only numbers"


def test_dtype() -> None:
    """The results of float32 inputs are float32."""
    steps, log = rollout(2, 6, dtype=torch.float32), torch.zeros(2, 6)
    rho, c = weights(log, log - 0.1, 1.0, 1.0)
    found = (rho, c, *vtrace(steps, rho, c, 0.9))
    yours = [x.dtype for x in found]
    assert {*yours} == {torch.float32}, (
        f"rho, c, advantage and target are {yours}, expected float32"
    )


@pytest.mark.backend("torchrl")
def test_torchrl_agrees() -> None:
    """TorchRL's loop agrees; there time is the second-to-last dim."""
    from torchrl.objectives.value import functional  # noqa: PLC0415 - optional

    steps = rollout(4, 12, seed=6)
    log_pi, log_mu = rollout(4, 12, seed=7).reward, rollout(4, 12, seed=8).reward
    yours = vtrace(steps, *weights(log_pi, log_mu, 1.5, 0.8), 0.9)
    logs = [x.unsqueeze(-1) for x in (log_pi, log_mu)]
    reward, value, following, terminated, done = (x.unsqueeze(-1) for x in steps)
    theirs = functional.vtrace_advantage_estimate(
        0.9, *logs, value, following, reward, done, terminated, 1.5, 0.8
    )
    for found, right, name in zip(yours, theirs, ("advantage", "target"), strict=True):
        close(found, right.squeeze(-1), f"TorchRL's {name}", 1e-6)
