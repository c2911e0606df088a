"""Tests of k14_halving: compared with a slow definition, on crossing curves of torch.optim."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture12.k14_halving import halving
from katas.lecture12.k14_halving import settled
from plugins.kit import unchanged


INF, NAN = math.inf, math.nan
Curves = list[list[float]]


class Runs:
    """Runs with known losses, which continue where they stopped and count their epochs."""

    def __init__(self, curves: Curves) -> None:
        self.curves = curves
        self.epochs = [0] * len(curves)
        self.calls: list[tuple[int, int]] = []

    def train(self, run: int, epochs: int) -> float:
        """Train a run for more epochs; beyond its curve the loss stays the same."""
        self.calls.append((run, epochs))
        assert len(self.calls) < 500, "your code called train 500 times, expected far fewer"
        self.epochs[run] += epochs
        curve = self.curves[run]
        return curve[min(self.epochs[run], len(curve)) - 1]


def ahead(losses: dict[int, float], run: int) -> int:
    """Return how many runs are better than this one, by loss, then by number."""

    def plain(other: int) -> float:
        return INF if math.isnan(losses[other]) else losses[other]

    return sum(
        plain(other) < plain(run) or (plain(other) == plain(run) and other < run)
        for other in losses
    )


def slow_halving(curves: Curves, first: int, factor: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the remaining run, and the runs of all rungs with their total epochs."""
    runs, alive, total = Runs(curves), set(range(len(curves))), first
    rungs = []
    while len(alive) > 1:
        losses = {run: runs.train(run, total - runs.epochs[run]) for run in alive}
        rungs += [(run, total) for run in alive]
        go_on = max(len(alive) // factor, 1)
        alive = {run for run in alive if ahead(losses, run) < go_on}
        total *= factor
    return alive.pop(), rungs


def check(curves: Curves, first: int, factor: int, why: str) -> None:
    """Compare the remaining run, and how long each run was trained."""
    __tracebackhide__ = True
    runs = Runs(curves)
    yours = halving(len(curves), runs.train, first, factor)
    right, rungs = slow_halving(curves, first, factor)
    epochs = [
        max((total for run, total in rungs if run == each), default=0)
        for each in range(len(curves))
    ]
    table = "\n".join(f"run {run}: {curve}" for run, curve in enumerate(curves))
    about = f"first {first}, factor {factor}, losses by epoch\n{table}\n"
    assert yours == right, f"{about}your code returns run {yours}, expected {right}; {why}"
    assert runs.epochs == epochs, (
        f"{about}epochs of each run: yours {runs.epochs}, expected {epochs}; {why}"
    )
    assert len(runs.calls) == len(rungs), (
        f"{about}your code calls train {len(runs.calls)} times, expected {len(rungs)}: one call for"
        " each run of a rung"
    )


def test_one_rung() -> None:
    """Three runs, factor 3: the best one remains and is not trained further."""
    check([[0.5], [0.2], [0.9]], 1, 3, "the lowest loss")


def test_nine_runs() -> None:
    """Two rungs: 9 runs for 1 epoch, then 3 of them for 2 more, 3 in total."""
    curves = [[1 + (run * 4 % 9) / 8, 1.0, (run * 2 % 7) / 6] for run in range(9)]
    check(curves, 1, 3, "train takes the epochs to add")


def test_each_rung_costs_the_same() -> None:
    """27 runs: 27 epochs, then 18 and 18 more. Restarting runs would cost 27 each time."""
    runs = Runs([[float(run)] for run in range(27)])
    halving(27, runs.train, 1, 3)
    assert sum(runs.epochs) == 63, (
        f"epochs of 27 runs: yours {sum(runs.epochs)}, expected 27 * 1 + 9 * 2 + 3 * 6 = 63;"
        " training all to the end takes 243"
    )


def test_numbers_that_do_not_divide() -> None:
    """Five runs, factor 3: one remains. Eleven, factor 2: five, two, one."""
    check([[0.5], [0.2], [0.9], [0.1], [0.3]], 2, 3, "5 // 3 is 1")
    check([[abs(run - 6.1) % 4.3] for run in range(11)], 1, 2, "11 // 2 is 5")


def test_fewer_runs_than_the_factor() -> None:
    """At least one run remains although 2 // 3 is 0; a single run is not trained."""
    check([[0.5], [0.2]], 1, 3, "at least one")
    check([[0.5]], 1, 3, "one run is left from the beginning")


@pytest.mark.parametrize("bad", [NAN, INF])
def test_a_run_that_diverges(bad: float) -> None:
    """NaN is not a low loss, wherever it occurs; Python's sort does not know that."""
    for place in range(4):
        curves = [[0.4], [0.3], [0.2]]
        curves.insert(place, [bad])
        check(curves, 1, 2, "NaN is as bad as inf")


def test_equal_losses() -> None:
    """The lower number wins, even if it was behind on the previous rung; NaN equals inf."""
    check(
        [[0.5, 0.5, 0.1], [0.4, 0.5, 0.1], [0.9], [0.9]],
        1,
        2,
        "of equals, the lower number",
    )
    check([[NAN], [INF], [NAN]], 1, 3, "all are as bad: the lowest number")
    check([[INF], [NAN], [INF]], 1, 2, "all are as bad: the lowest number")


LOSSES = st.sampled_from([0.5, 0.25, 1.0, 2.0**0.5, 3.0**0.5, INF, -INF, NAN, 0.0, -0.0])
CURVES = st.integers(1, 6).flatmap(
    lambda epochs: st.lists(st.lists(LOSSES, min_size=epochs, max_size=epochs), min_size=1)
)


@given(CURVES, st.integers(1, 3), st.integers(2, 4))
def test_any_runs(curves: Curves, first: int, factor: int) -> None:
    """Runs with any losses."""
    check(curves, first, factor, "by the rules at `halving`")


def slow_settled(curves: Curves) -> int:
    """Return the first epoch such that one run leads from there to the end."""

    def leader(epoch: int) -> int:
        losses = {run: curve[epoch - 1] for run, curve in enumerate(curves)}
        return next(run for run in losses if ahead(losses, run) == 0)

    epochs = range(1, len(curves[0]) + 1)
    last = leader(epochs[-1])
    return next(e for e in epochs if all(leader(later) == last for later in epochs[e - 1 :]))


def check_settled(curves: Curves) -> None:
    """Compare with the slow definition."""
    __tracebackhide__ = True
    x = torch.tensor(curves, dtype=torch.float64)
    with unchanged(curves=x):
        yours = settled(x)
    right = slow_settled(curves)
    assert yours == right, (
        f"losses, a row for each run\n{x}\nsettled from epoch: yours {yours}, expected {right}"
    )


def test_curves_that_cross() -> None:
    """Run 1 leads for two epochs, run 0 from the third on; the lead may also change twice."""
    check_settled([[0.9, 0.5, 0.2, 0.1], [0.5, 0.4, 0.3, 0.3]])
    check_settled([[0.1, 0.5, 0.1, 0.1], [0.5, 0.4, 0.3, 0.3]])
    check_settled([[0.5, 0.5, 0.5, 0.1], [0.4, 0.4, 0.4, 0.4]])


def test_one_leads_from_the_beginning() -> None:
    """Epochs count from 1, not 0."""
    check_settled([[0.1, 0.1, 0.1], [0.5, 0.4, 0.3]])
    check_settled([[0.1]])


@example([[0.5, 0.5], [-INF, 0.1]])
@example([[0.1, NAN], [0.5, INF]])
@example([[NAN, 0.1], [0.5, 0.5]])
@example([[0.5, 0.1], [NAN, 0.5]])
@given(CURVES)
def test_any_curves(curves: Curves) -> None:
    """NaN never leads, though torch.argmin picks it; among equal losses the first leads."""
    check_settled(curves)


@example([[0.9, 0.5, 0.2, 0.1], [0.5, 0.4, 0.3, 0.3]], 2)
@given(CURVES, st.integers(2, 4))
def test_the_promise_holds_from_there_on(curves: Curves, factor: int) -> None:
    """A run that leads from `first` on survives every rung, so halving finds the best run."""
    x = torch.tensor(curves, dtype=torch.float64)
    yours = halving(len(curves), Runs(curves).train, settled(x), factor)
    losses = {run: curve[-1] for run, curve in enumerate(curves)}
    assert ahead(losses, yours) == 0, (
        f"losses\n{x}\nyour `settled` returns {settled(x)}, but your `halving` with first="
        f"{settled(x)}, factor {factor} returns run {yours}, which is not the final leader"
    )


def trained(rate: float, *, cosine: bool, epochs: int = 81) -> list[float]:
    """Return the losses, by epoch, of an SGD run with noisy gradients."""
    generator = torch.Generator().manual_seed(3)
    weight = torch.nn.Parameter(torch.full((50,), 3.0, dtype=torch.float64))
    optimizer = torch.optim.SGD([weight], lr=rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    losses = []
    for _ in range(epochs):
        noise = torch.randn(50, generator=generator, dtype=torch.float64)
        weight.grad = weight.detach() + 2 * noise
        optimizer.step()
        if cosine:
            scheduler.step()
        losses.append(float(weight.detach().square().mean()))
    return losses


def test_the_promise_breaks() -> None:
    """Halving from epoch 1 drops the best torch.optim run; a later first rung keeps it.

    A high rate leads early. A schedule makes it worse, because the loss falls when the rate does.
    """
    curves = [
        trained(rate, cosine=cosine) for cosine in (False, True) for rate in (0.5, 0.2, 0.05, 0.02)
    ]
    best = min(range(len(curves)), key=lambda run: curves[run][-1])
    x = torch.tensor(curves, dtype=torch.float64)
    early = halving(len(curves), Runs(curves).train, 1, 3)
    late = halving(len(curves), Runs(curves).train, settled(x), 3)
    assert early != best, (
        f"with first=1 your code keeps run {early}, the best at the end; expected it to be dropped"
    )
    assert late == best, (
        f"with first={settled(x)} your code finds run {late}, expected run {best}, which has the"
        f" lowest loss at the end: {[curve[-1] for curve in curves]}"
    )
