"""Tests of k17_scaling: hidden laws, and fits by textbook formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture12.k17_scaling import FRACTIONS
from katas.lecture12.k17_scaling import Law
from katas.lecture12.k17_scaling import fit
from katas.lecture12.k17_scaling import interval
from plugins.kit import unchanged


SIZES = 1e6 * 2.0 ** torch.arange(8, dtype=torch.float64)
FAR = 32 * float(SIZES[-1])


def losses_of(
    law: Law, sizes: torch.Tensor = SIZES, noise: float = 0.0, seed: int = 0
) -> torch.Tensor:
    """Return a law's losses at some sizes, with proportional noise."""
    generator = torch.Generator().manual_seed(seed)
    exact = law.floor + law.scale / sizes**law.exponent
    return exact * (1 + noise * torch.randn(len(sizes), generator=generator, dtype=torch.float64))


def hidden(seed: int) -> Law:
    """Return a law that your code does not know."""
    generator = torch.Generator().manual_seed(1000 + seed)
    floor, reducible, exponent = torch.rand(3, generator=generator, dtype=torch.float64).tolist()
    exponent = 0.2 + 0.3 * exponent
    return Law(1.5 + floor, (1 + 2 * reducible) * 1e6**exponent, exponent)


def line(x: list[float], y: list[float]) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line: covariance over variance."""
    middle_x, middle_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    covariance = math.fsum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    slope = covariance / math.fsum((a - middle_x) ** 2 for a in x)
    return middle_y - slope * middle_x, slope


def slow_fit(sizes: torch.Tensor, losses: torch.Tensor) -> Law:
    """Fit one floor after the other."""
    x = [math.log(size) for size in sizes.tolist()]
    found = []
    for fraction in FRACTIONS.tolist():
        floor = fraction * min(losses.tolist())
        start, slope = line(x, [math.log(loss - floor) for loss in losses.tolist()])
        law = Law(floor, math.exp(start), -slope)
        pairs = zip(sizes.tolist(), losses.tolist(), strict=True)
        found.append((math.fsum(math.log(law.at(s) / loss) ** 2 for s, loss in pairs), law))
    return min(found)[1]


def slow_interval(sizes: torch.Tensor, losses: torch.Tensor, size: float) -> tuple[float, float]:
    """Leave out one run after the other."""
    keep = [[i for i in range(len(sizes)) if i != out] for out in range(len(sizes))]
    moved = [slow_fit(sizes[each], losses[each]).at(size) for each in keep]
    mean = math.fsum(moved) / len(moved)
    squares = math.fsum((each - mean) ** 2 for each in moved)
    error = math.sqrt((len(moved) - 1) / len(moved) * squares)
    middle = slow_fit(sizes, losses).at(size)
    return middle - 2 * error, middle + 2 * error


def close(yours: tuple[float, ...], right: tuple[float, ...], what: str, why: str) -> None:
    """Compare numbers; least squares keeps about ten digits."""
    __tracebackhide__ = True
    assert tuple(yours) == pytest.approx(tuple(right), rel=1e-8, abs=1e-9), (
        f"{what}\nyours     {tuple(yours)}\nexpected  {tuple(right)}\n{why}"
    )


def test_a_line_without_a_floor() -> None:
    """A power law is already a line: its floor is 0."""
    law = Law(0.0, 90.0, 0.25)
    losses = losses_of(law)
    with unchanged(sizes=SIZES, losses=losses, fractions=FRACTIONS):
        yours = fit(SIZES, losses)
    close(yours, law, "a loss of 90 / size**0.25", "slope -0.25, and a start of log(90)")
    kinds = {type(each) for each in yours}
    assert kinds == {float}, f"your code returns {kinds}, expected three Python floats: call item()"


@pytest.mark.parametrize("fraction", [0.5, 399 / 400])
def test_a_law_with_a_floor(fraction: float) -> None:
    """The lowest loss is 3, and the law's floor is one of the 400: the middle one, the last one."""
    law = Law(fraction * 3, (1 - fraction) * 3 * float(SIZES[-1]) ** 0.3, 0.3)
    yours = fit(SIZES, losses_of(law))
    close(
        yours,
        law,
        f"a floor of {law.floor}, lowest loss 3",
        "subtract, then the line",
    )


def test_the_runs_may_stand_in_any_order() -> None:
    """The largest model need not be last, and two runs may have the same size."""
    order = torch.tensor([3, 7, 0, 5, 5, 1, 6, 2, 4])
    sizes, losses = SIZES[order], losses_of(hidden(0), noise=0.01)[order]
    # Changed in place: a cached result would be wrong.
    fit(sizes, losses)
    losses[4] *= 1.02
    with unchanged(sizes=sizes, losses=losses):
        yours = fit(sizes, losses)
    close(
        yours,
        slow_fit(sizes, losses),
        "runs in another order",
        "a set of runs",
    )


@example(0.01, 3, 4)
@given(st.sampled_from([0.0, 0.001, 0.03]), st.integers(0, 50), st.integers(4, 8))
def test_any_runs(noise: float, seed: int, count: int) -> None:
    """Compared with the textbook formulas for one line, 400 times."""
    sizes = SIZES[:count] * 3**0.5
    losses = losses_of(hidden(seed), sizes, noise, seed)
    why = "closest in the logarithm: the sum of squares of log(law) - log(loss)"
    close(fit(sizes, losses), slow_fit(sizes, losses), f"losses {losses.tolist()}", why)


class Counted(TorchDispatchMode):
    """Counts the operators that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        self.largest = 0

    def __torch_dispatch__(
        self, function: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Count the operator and run it."""
        self.count += 1
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.largest = max(self.largest, out.numel())
        return out


def test_400_floors_at_once() -> None:
    """All floors in one call: a loop would run operators for each floor."""
    losses = losses_of(hidden(0), noise=0.01)
    with Counted() as counted:
        fit(SIZES, losses)
    assert 0 < counted.count < len(FRACTIONS), (
        f"your code runs {counted.count} PyTorch operators, expected at least 1 but fewer than 400 "
        "(400 would be one for each floor): handle all floors in one call"
    )
    expected = len(FRACTIONS) * len(SIZES)
    assert counted.largest >= expected, (
        f"elements of the largest operator result: yours {counted.largest}, expected at least"
        f" {expected}, a row for each floor: a Python loop over floats is still a loop"
    )


def test_it_predicts_where_a_line_does_not() -> None:
    """At 32 times the largest size, from runs that scatter by half a percent."""
    off: dict[str, list[float]] = {"law": [], "line": []}
    for seed in range(30):
        law = hidden(seed)
        losses = losses_of(law, noise=0.005, seed=seed)
        start, slope = line(SIZES.log().tolist(), losses.log().tolist())
        off["law"].append(abs(fit(SIZES, losses).at(FAR) / law.at(FAR) - 1))
        off["line"].append(abs(math.exp(start + slope * math.log(FAR)) / law.at(FAR) - 1))
    mean = {name: sum(each) / len(each) for name, each in off.items()}
    assert mean["law"] < 0.03, (
        f"mean relative error against the hidden law: yours {mean['law']:.1%}, expected less than"
        " 3 %"
    )
    assert mean["law"] < mean["line"] / 5, (
        f"mean relative error against the hidden law: yours {mean['law']:.1%}, expected less than"
        " a fifth"
        f" of the error of a line without a floor, {mean['line']:.1%}"
    )


def test_the_interval_of_noisy_runs() -> None:
    """The jackknife: eight fits that each leave out one run, and one with all."""
    for seed in range(4):
        losses = losses_of(hidden(seed), noise=0.01, seed=seed)
        with unchanged(sizes=SIZES, losses=losses):
            yours = interval(SIZES, losses, FAR)
        kinds = {type(each) for each in yours}
        assert kinds == {float}, f"your code returns {kinds}, expected two Python floats"
        why = "two errors below and above the prediction of all runs, whose mean is another number"
        close(yours, slow_interval(SIZES, losses, FAR), f"losses {losses.tolist()}", why)


def test_the_interval_of_few_runs() -> None:
    """With five runs, n is 5 in both places of the formula."""
    losses = losses_of(hidden(7), noise=0.01)[:5]
    yours = interval(SIZES[:5], losses, FAR)
    close(yours, slow_interval(SIZES[:5], losses, FAR), "five runs", "(n - 1) / n, with n = 5")
    sizes = SIZES[:5].clone()
    sizes[3] = sizes[2]
    yours = interval(sizes, losses, FAR)
    why = "one run is left out, and not another one of its size"
    close(yours, slow_interval(sizes, losses, FAR), "two of five runs with the same size", why)


def test_far_away_is_less_certain() -> None:
    """The same runs say less about 32 times the largest size than about twice."""
    losses = losses_of(hidden(1), noise=0.01)
    near, far = (interval(SIZES, losses, times * float(SIZES[-1])) for times in (2, 32))
    widths = near[1] - near[0], far[1] - far[0]
    assert widths[0] < widths[1], (
        f"width of the interval, at twice the size and at 32 times: yours {widths}, expected the"
        " second to be wider"
    )


def test_how_often_it_holds() -> None:
    """Most of 40 hidden laws lie in their interval, but not all: an error is not a bound."""
    held = 0
    for seed in range(40):
        law = hidden(seed)
        low, high = interval(SIZES, losses_of(law, noise=0.005, seed=seed), FAR)
        held += low <= law.at(FAR) <= high
    assert 28 <= held <= 39, (
        f"laws inside their interval: yours {held} of 40, expected between 28 and 39"
    )
