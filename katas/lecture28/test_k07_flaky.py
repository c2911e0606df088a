"""Tests of k07_flaky: chances agree with torch.distributions and with exact fractions."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture28 import k07_flaky as kata
from katas.lecture28.k07_flaky import Run
from katas.lecture28.k07_flaky import chance
from katas.lecture28.k07_flaky import disable
from katas.lecture28.k07_flaky import reruns
from katas.lecture28.k07_flaky import verdict
from plugins.kit import forbids


History = dict[str, list[Run]]


def runs_of(*commits: str) -> list[Run]:
    """Return runs from a string per commit, oldest first: "." passes and "F" fails."""
    return [Run(n, each == ".") for n, text in enumerate(commits, 1) for each in text]


def compare(runs: list[Run], expected: str, why: str) -> None:
    """Compare a verdict."""
    __tracebackhide__ = True
    before = list(runs)
    yours = verdict(runs)
    shown = " ".join(f"{run.commit}{'.' if run.passed else 'F'}" for run in runs)
    assert yours == expected, f"runs {shown}: yours {yours!r}, expected {expected!r}: {why}"
    assert runs == before, f"your code changes the runs: {runs}, expected {before}"


def test_a_test_that_is_healthy() -> None:
    """A healthy test has not failed, or has not run."""
    compare(runs_of("..", "."), "healthy", "no run fails")
    compare([], "healthy", "no run fails, since there is none")


def test_a_test_that_is_broken() -> None:
    """A broken test has failed in every run since some commit."""
    compare(runs_of("..", "FF", "F"), "broken", "the newest commit fails")
    compare(runs_of("F"), "broken", "the newest commit fails, and there is no other")


def test_a_test_that_is_fixed() -> None:
    """A fixed test failed in every run of a commit, and no longer does."""
    compare(runs_of("FF", "F", ".."), "fixed", "the newest commit passes")


def test_a_test_that_is_flaky() -> None:
    """A flaky test has both outcomes on the same code, whatever comes later."""
    compare(runs_of(".F"), "flaky", "commit 1 has both")
    compare(runs_of("F.", "..", ".."), "flaky", "commit 1 has both, though later runs pass")
    compare(runs_of("..", ".F", "FF"), "flaky", "commit 2 has both")
    compare(runs_of(".", "F", ".", "F"), "broken", "no commit has both: it came and went")


def test_an_old_commit_runs_again() -> None:
    """The newest commit is the one with the highest number, not the last run."""
    compare(
        [Run(1, passed=True), Run(2, passed=False), Run(1, passed=True)],
        "broken",
        "commit 2 is the newest",
    )
    compare(
        [Run(9, passed=True), Run(10, passed=True), Run(9, passed=False)],
        "flaky",
        "commit 9 has both",
    )
    compare([Run(3, passed=True), Run(2, passed=False)], "fixed", "commit 3 is the newest")


def exactly(failures: int, runs: int, rate: float) -> Fraction:
    """Return the chance, by adding up all outcomes of these runs."""
    p = Fraction(rate)
    total = Fraction(0)
    for outcome in product((0, 1), repeat=runs):
        failed = sum(outcome)
        if failed >= failures:
            total += p**failed * (1 - p) ** (runs - failed)
    return total


@example(0, 5, 0.25)
@example(5, 5, 0.25)
@example(6, 5, 0.25)
@example(1, 1, 0.0)
@example(0, 3, 0.0)
@example(3, 3, 1.0)
@example(4, 3, 1.0)
@given(st.integers(0, 7), st.integers(0, 7), st.sampled_from([0.0, 0.05, 1 / 3, 0.5, 1.0]))
def test_the_chance(failures: int, runs: int, rate: float) -> None:
    """A few runs, compared with the sum over all outcomes."""
    yours, expected = chance(failures, runs, rate), float(exactly(failures, runs, rate))
    assert yours == pytest.approx(expected, rel=1e-12, abs=0), (
        f"at least {failures} failures in {runs} runs at {rate}: yours {yours}, expected {expected}"
    )


def test_the_chance_of_many_runs() -> None:
    """Many runs, compared with torch.distributions.Binomial."""
    cases = ((10, 200, 0.02), (40, 100, 0.01), (1, 500, 0.001), (5, 2000, 0.01), (9, 1200, 0.75))
    for failures, runs, rate in cases:
        chances = torch.distributions.Binomial(runs, torch.tensor(rate, dtype=torch.float64))
        counts = torch.arange(failures, runs + 1, dtype=torch.float64)
        expected = float(chances.log_prob(counts).exp().sum())
        try:
            yours = chance(failures, runs, rate)
        except OverflowError as error:
            raise AssertionError(
                f"at least {failures} failures in {runs} runs at {rate}: you raise {error}; comb"
                " is an int with as many digits as it needs, and a float ends at 1e308"
            ) from None
        assert yours == pytest.approx(expected, rel=1e-8, abs=0), (
            f"at least {failures} failures in {runs} runs at {rate}: yours {yours}, PyTorch's"
            f" {expected}. 1 minus a sum near 1 loses the digits of a small chance"
        )


def test_how_often_to_run_again() -> None:
    """A test that failed half the time needs a few green runs; a rare failure needs many."""
    for rate, limit, expected in (
        (0.5, 0.5, 1),
        (0.5, 2.0**-3, 3),
        (0.5, math.nextafter(0.5, 0), 2),
        (0.5, 2.0**-29, 29),
        (0.75, 2.0**-10, 5),
        (1.0, 0.01, 1),
        (0.3, 1.0, 0),
    ):
        yours = reruns(rate, limit)
        assert yours == expected, f"rate {rate}, limit {limit}: yours {yours}, expected {expected}"


@example(0.05, 0.05)
@example(0.001, 0.05)
@given(st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.9]), st.sampled_from([0.3, 0.05, 1e-3, 1e-9]))
def test_one_run_less_would_not_do(rate: float, limit: float) -> None:
    """With this many runs the chance is at most the limit, with one fewer it is above."""
    yours = reruns(rate, limit)
    passes = 1 - Fraction(rate)
    assert passes**yours <= limit < passes ** (yours - 1), (
        f"rate {rate}, limit {limit}: yours {yours} runs, which all pass with a chance of"
        f" {float(passes**yours)}; one run fewer: {float(passes ** (yours - 1))}; expected"
        " the limit between the two"
    )


def test_what_to_disable() -> None:
    """The most certain test comes first; tests with only rare failures stay enabled."""
    history = {
        "rare": runs_of(".F", *[".."] * 49),
        "often": runs_of(".F", "F.", "F.", ".."),
        "worse": runs_of(".F", "FF", "F.", ".F"),
        "broken": runs_of("..", "FF", "FF"),
        "fixed": runs_of("FF", "FF", "FF", ".."),
        "healthy": runs_of("..", ".."),
        "abysmal": runs_of("FFFFFF.FFF", "FFFFFFFFF."),
        "dreadful": runs_of("FFFFFF.FFF", *["FFFFFFFFF."] * 9),
        "half": runs_of("F."),
        "long": runs_of(*["F....F...."] * 10),
    }
    before = copy.deepcopy(history)
    yours = disable(history, 0.02, 0.01)
    assert history == before, f"your code changes the history: {history}, expected {before}"
    # Their chances are about 1e-140, 1e-29, 1e-14, 1e-7 and 4e-4; the chance of half is 0.04.
    expected = ["dreadful", "abysmal", "long", "worse", "often"]
    assert yours == expected, (
        f"yours {yours}, expected {expected}: by the chance, not rounded, and not by the share of"
        " failures. At 2 %, 20 of 100 are less likely by chance than 5 of 8, and 1 of 2 may be"
        " chance;"
        " a broken or fixed test has a cause that somebody has to find"
    )


def test_equal_chances() -> None:
    """Equal chances are sorted by name, and a chance equal to the limit is not below it."""
    history: History = {name: runs_of(".F") for name in ("c", "a", "b")}
    yours = disable(history, 0.5, 0.8)
    assert yours == ["a", "b", "c"], f"yours {yours}, expected ['a', 'b', 'c']: 0.75 is below 0.8"
    none = disable(history, 0.5, 0.75)
    assert none == [], f"limit 0.75: yours {none}, expected []: a chance of 0.75 is not below"


OUTCOMES = st.lists(st.builds(Run, st.integers(1, 4), st.booleans()), max_size=8)


def slow_verdict(runs: list[Run]) -> str:
    """Return the verdict by its definition, pair by pair."""
    if any(a.commit == b.commit and a.passed > b.passed for a in runs for b in runs):
        return "flaky"
    if all(run.passed for run in runs):
        return "healthy"
    newest = [run for run in runs if all(run.commit >= other.commit for other in runs)]
    return "fixed" if newest[0].passed else "broken"


@given(st.dictionaries(st.sampled_from("abcd"), OUTCOMES))
def test_any_history(history: History) -> None:
    """Any history gives the verdict that its definition gives."""
    for runs in history.values():
        compare(runs, slow_verdict(runs), "the first of the four that fits")
    chances = {
        name: exactly(sum(not run.passed for run in runs), len(runs), 0.25)
        for name, runs in history.items()
        if slow_verdict(runs) == "flaky"
    }
    order = sorted(chances, key=lambda name: (chances[name], name))
    expected = [name for name in order if chances[name] < Fraction(1, 2)]
    yours = disable(history, 0.25, 0.5)
    assert yours == expected, f"{history}\nyours {yours}\nexpected {expected}, chances {chances}"


def test_without_torch() -> None:
    """Add up the chance yourself, without torch.distributions."""
    with forbids(kata) as fresh:
        yours = fresh.chance(2, 4, 0.5)
    assert yours == 0.6875, f"at least 2 of 4 at 0.5: yours {yours}, expected 11/16"


def test_a_table_as_text() -> None:
    """How often to rerun, by a test's failure rate and the tolerated chance of a wrong verdict."""
    limits = (0.1, 0.01, 0.001)
    rows = [
        f"{rate:4} {' '.join(f'{reruns(rate, limit):4}' for limit in limits)}"
        for rate in (0.01, 0.05, 0.2, 0.5, 0.9)
    ]

    assert_expected_inline(
        "\n".join(rows),
        """\
0.01  230  459  688
0.05   45   90  135
 0.2   11   21   31
 0.5    4    7   10
 0.9    1    2    3""",
    )
