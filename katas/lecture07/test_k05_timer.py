"""Tests of k05_timer: a machine with a simulated clock, which can lie in five ways."""

from __future__ import annotations

import random
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

import pytest

from katas.lecture07.k05_timer import compare


if TYPE_CHECKING:
    from collections.abc import Callable


# Microseconds: the CPU's time for a launch, and the GPU's for a kernel.
LAUNCH, KERNEL = 5.0, 100.0


class Machine:
    """A CPU that launches, a GPU that works behind it, and a clock they share."""

    def __init__(self, *, cold: float = 1, drift: float = 0, noise: float = 0) -> None:
        self.now = 0.0
        # When the GPU will have done all launched work.
        self.done = 0.0
        self.cold, self.drift, self.noise = cold, drift, noise
        self.calls: Counter[str] = Counter()
        self.log: list[str] = []
        self.random = random.Random(7)  # noqa: S311 - noise, seeded

    def clock(self) -> float:
        """Return the current time."""
        self.log.append("clock")
        return self.now

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self.log.append("synchronize")
        self.now = max(self.now, self.done)

    def kernel(self, name: str, cost: float) -> Callable[[], None]:
        """Return a function that launches a kernel and returns at once."""

        def launch() -> None:
            self.log.append(name)
            self.calls[name] += 1
            time = cost * (self.cold if self.calls[name] == 1 else 1)
            time *= 1 + self.drift * sum(self.calls.values())
            if self.random.random() < self.noise:
                time *= self.random.choice([self.random.uniform(0.3, 0.6), 12])
            self.now += LAUNCH
            self.done = max(self.done, self.now) + time

        return launch


def measured(machine: Machine, slower: float = 1.05, rounds: int = 30) -> tuple[float, float]:
    """Compare a kernel with one that is slower by a factor."""
    f, g = machine.kernel("f", KERNEL), machine.kernel("g", KERNEL * slower)
    return compare(f, g, machine.clock, machine.synchronize, rounds)


def check(yours: tuple[float, float], why: str) -> None:
    """Check that the second kernel is slower by 5 %, give or take 1."""
    __tracebackhide__ = True
    ratio = yours[1] / yours[0]
    assert ratio == pytest.approx(1.05, abs=0.01), (
        f"yours {yours[0]:.1f} and {yours[1]:.1f}, a ratio of {ratio:.3f}; expected 1.05: {why}"
    )


def test_a_launch_is_not_the_work() -> None:
    """Both times are GPU times, including the launch that the GPU waits for."""
    yours = measured(Machine(), slower=2)
    expected = (LAUNCH + KERNEL, LAUNCH + 2 * KERNEL)
    assert yours == pytest.approx(expected), (
        f"yours {yours}, expected {expected}: when did the work begin, and when was it done?"
    )


def test_work_from_before() -> None:
    """The caller may have launched work before, and the untimed calls did."""
    machine = Machine()
    machine.kernel("before", 90 * KERNEL)()
    check(measured(machine, rounds=1), "the queue was not empty when the clock was read")


def test_the_first_call_is_cold() -> None:
    """With one round, no median can hide the cold call."""
    yours = measured(Machine(cold=50), rounds=1)
    expected = (LAUNCH + KERNEL, LAUNCH + 1.05 * KERNEL)
    assert yours == pytest.approx(expected), (
        f"yours {yours}, expected {expected}: do not time the first calls, which compile"
    )


def test_the_gpu_heats_up() -> None:
    """Each run is slower than the one before, by 1 % of the first."""
    check(
        measured(Machine(drift=0.01)), "all of f, then all of g, compares a cold GPU with a hot one"
    )


def test_some_runs_are_interrupted_or_lucky() -> None:
    """A fifth of the runs are noisy; long ones pull up the mean, short ones the minimum."""
    check(measured(Machine(noise=0.2), rounds=101), "take the middle of the sorted times")


def test_all_lies_at_the_same_time() -> None:
    """The machine is cold, noisy and heating up, all at once."""
    yours = measured(Machine(cold=50, drift=0.0005, noise=0.15), rounds=101)
    check(yours, "each remedy is needed")


@pytest.mark.parametrize("rounds", [1, 4])
def test_rounds(rounds: int) -> None:
    """Each function is called once untimed, then `rounds` times, each between two readings."""
    machine = Machine()
    measured(machine, rounds=rounds)
    calls = dict(machine.calls)
    readings = machine.log.count("clock")

    assert calls == {"f": rounds + 1, "g": rounds + 1}, (
        f"{rounds} rounds: your code made the calls {calls}, expected {rounds + 1} of each"
    )
    assert readings == 4 * rounds, f"the clock was read {readings} times, expected {4 * rounds}"


def test_the_median_of_an_even_number() -> None:
    """With an even number of times, the median is midway between the middle two."""
    yours = measured(Machine(drift=0.1), slower=1, rounds=2)
    # The first two calls are untimed; then f is third and fifth, g fourth and sixth.
    expected = tuple(LAUNCH + KERNEL * (1 + 0.1 * n) for n in (4, 5))
    assert yours == pytest.approx(expected), f"yours {yours}, expected {expected}"


def test_the_median_of_what_the_clock_says() -> None:
    """Half of the runs are noisy, so the mean of the middle ones is a different number."""
    machine, readings = Machine(noise=0.5), list[float]()

    def clock() -> float:
        readings.append(machine.clock())
        return readings[-1]

    f, g = machine.kernel("f", KERNEL), machine.kernel("g", 2 * KERNEL)
    yours = compare(f, g, clock, machine.synchronize, 9)
    timed = [name for name in machine.log if name in {"f", "g"}][2:]
    times = [end - start for start, end in zip(readings[::2], readings[1::2], strict=True)]
    expected = tuple(
        median(time for name, time in zip(timed, times, strict=True) if name == each)
        for each in ("f", "g")
    )
    assert yours == pytest.approx(expected), f"yours {yours}, but the medians are {expected}"
