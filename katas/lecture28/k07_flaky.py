"""Broken, or only flaky? Triage a test from its runs.

A test of your pull request is red. Run it again, and it is green. Ask the history, where commits
have run more than once:

    commit      1    1    2    2    3    3
    test_a      .    .    F    F    F    F      broken: since commit 2
    test_b      .    F    .    .    F    .      flaky: commit 1 has both
    test_c      F    F    F    F    .    .      fixed

A flaky test is disabled, unless it fails as rarely as others do. How sure can you be? If it failed
at the rate that you put up with, how likely would at least that many failures be? That is its
*chance* here; if it is small, the test fails more often than that.

1. `verdict`: one test's runs.
2. `chance`: that of at least so many failures.
3. `reruns`: how many green runs say that a repair has helped?
4. `disable`: the list for the whole project.

Begin with a guess: a test fails one time in twenty. It is green many times in a row. After how many
is the chance of that, by luck alone, below 5 %?

Real life differs: a test is disabled by an issue called ``DISABLED test_b (__main__.TestFoo)``.
Afterwards read ``check_if_enable`` in ``torch/testing/_internal/common_utils.py``.
"""

from __future__ import annotations

import math  # noqa: F401 - your answer may need it
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


class Run(NamedTuple):
    """One run of a test. Commits are numbered; an old one may be run again at any time."""

    commit: int
    passed: bool


def verdict(runs: Sequence[Run]) -> str:
    """Return what a test is; the first that fits.

    - "flaky": one commit has runs that pass and runs that fail.
    - "healthy": no run fails.
    - "broken": the newest commit fails.
    - "fixed": the newest commit passes.
    """
    # TODO: for each commit the set of its outcomes.
    raise NotImplementedError("verdict")


def chance(failures: int, runs: int, rate: float) -> float:
    """Return the chance of at least `failures` in `runs`, if each run fails at this rate.

    A chance of 1e-20 has as many right digits as one of 0.5. There may be thousands of runs.
    """
    # TODO: a sum over the possible numbers of failures; math.comb.
    raise NotImplementedError("chance")


def reruns(rate: float, limit: float) -> int:
    """Return the least number of runs that all pass with a chance of at most `limit`.

    Each fails at this rate, 0 < rate <= 1, and 0 < limit <= 1. A chance that is exactly the limit,
    in floats, will do; with a limit of 1 no run is needed, so it is 0.
    """
    # TODO: mind a chance that is the limit exactly.
    raise NotImplementedError("reruns")


def disable(history: Mapping[str, Sequence[Run]], rate: float, limit: float) -> list[str]:
    """Return the flaky tests whose chance is below the limit: the smallest first, then by name.

    A test's chance is that of all its failures in all its runs, at this rate.
    """
    # TODO: a broken test is no flaky one: to disable it would hide a bug.
    raise NotImplementedError("disable")
