"""Broken, or only flaky? Triage a test by its runs."""

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
    outcomes: dict[int, set[bool]] = {}
    for run in runs:
        outcomes.setdefault(run.commit, set()).add(run.passed)
    if {True, False} in outcomes.values():
        return "flaky"
    if {False} not in outcomes.values():
        return "healthy"
    return "fixed" if True in outcomes[max(outcomes)] else "broken"


def chance(failures: int, runs: int, rate: float) -> float:
    """Return the chance of at least `failures` in `runs` if each run fails at this rate.

    A chance of 1e-20 has as many right digits as one of 0.5.
    """
    if rate in (0, 1):
        return float(failures <= runs * rate)
    # The number of orders may be more than a float holds; its logarithm is not.
    odds, none = math.log(rate / (1 - rate)), runs * math.log1p(-rate)
    counts = range(failures, runs + 1)
    return sum(math.exp(math.log(math.comb(runs, count)) + count * odds + none) for count in counts)


def reruns(rate: float, limit: float) -> int:
    """Return the smallest number of runs whose chance of all passing is at most `limit`.

    Each run fails at this rate, 0 < rate <= 1, and 0 < limit <= 1. A chance that equals the limit
    exactly, in floats, is small enough; for a limit of 1, return 0.
    """
    count = 0
    while (1 - rate) ** count > limit:
        count += 1
    return count


def disable(history: Mapping[str, Sequence[Run]], rate: float, limit: float) -> list[str]:
    """Return flaky tests whose chance is below the limit, smallest chance first, then by name.

    A test's chance counts all its failures in all its runs, at this rate.
    """
    found = []
    for name, runs in history.items():
        p = chance(sum(not run.passed for run in runs), len(runs), rate)
        if verdict(runs) == "flaky" and p < limit:
            found.append((p, name))
    return [name for _, name in sorted(found)]
