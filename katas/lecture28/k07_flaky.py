"""Broken, or only flaky? Triage a test by its runs.

A test of your pull request is red. You run it again, and it is green. Look at the history, where
some commits were tested more than once:

    commit      1    1    2    2    3    3
    test_a      .    .    F    F    F    F      broken: since commit 2
    test_b      .    F    .    .    F    .      flaky: commit 1 has both
    test_c      F    F    F    F    .    .      fixed

A flaky test is disabled unless it fails only rarely. How sure can you be? If its true failure rate
were the one you tolerate, how likely would this many failures or more be? That is its *chance*
here; if it is small, the test fails more often than you tolerate.

1. `verdict`: judge one test by its runs.
2. `chance`: the chance of at least this many failures.
3. `reruns`: how many green runs show that a fix has worked?
4. `disable`: the list for the whole project.

Begin with a guess: a test fails one time in twenty. After how many green runs in a row is the
chance that this was luck below 5 %?

Real life differs: a test is disabled by an issue called ``DISABLED test_b (__main__.TestFoo)``.
Afterwards read ``check_if_enable`` in ``torch/testing/_internal/common_utils.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


class Run(NamedTuple):
    """One run of a test. Commits are numbered; an old one may be rerun at any time."""

    commit: int
    passed: bool


def verdict(runs: Sequence[Run]) -> str:
    """Return the first verdict that applies to a test.

    - "flaky": one commit has runs that pass and runs that fail.
    - "healthy": no run fails.
    - "broken": the newest commit fails.
    - "fixed": the newest commit passes.
    """
    # TODO: the set of outcomes for each commit.
    raise NotImplementedError("verdict")


def chance(failures: int, runs: int, rate: float) -> float:
    """Return the chance of at least `failures` in `runs` if each run fails at this rate.

    A chance of 1e-20 must have as many correct digits as one of 0.5. There may be thousands of
    runs.
    """
    # TODO: a sum over the possible numbers of failures; math.comb.
    raise NotImplementedError("chance")


def reruns(rate: float, limit: float) -> int:
    """Return the smallest number of runs whose chance of all passing is at most `limit`.

    Each run fails at this rate, 0 < rate <= 1, and 0 < limit <= 1. A chance that equals the limit
    exactly, in floats, is small enough; for a limit of 1, return 0.
    """
    # TODO: mind a chance that equals the limit exactly.
    raise NotImplementedError("reruns")


def disable(history: Mapping[str, Sequence[Run]], rate: float, limit: float) -> list[str]:
    """Return flaky tests whose chance is below the limit, smallest chance first, then by name.

    A test's chance counts all its failures in all its runs, at this rate.
    """
    # TODO: a broken test is not flaky: disabling it would hide a bug.
    raise NotImplementedError("disable")
