"""Rerun what a change requires, and nothing else.

Somebody fixes a comment in `clean`. A pipeline that runs everything below it computes for six
hours, and all outputs stay the same. If it compares outputs, it stops after a minute:

    raw -> clean -> features -> train -> report          clean has changed: it runs.
                        `-----> stats -----^             Its output is the same: nothing else does.

1. `rerun`: run as few stages as possible. Runs cost time; the tests count them.
2. `ends`: when each stage ends if there are enough machines.
3. `critical`: the path to shorten if the night is too long.
4. `decide`: the rules of a bot that retrains. About 25 lines in all.

The bot is a pure function: the time is among its arguments. So each rule has a test, and no test
waits for a night.

Begin on paper: `train` and `stats` have changed, and only the output of `stats`. What runs?
Afterwards read ``tools/testing/target_determination/determinator.py`` in PyTorch's repository:
how does it rank the tests for a pull request?

Real life differs: outputs that contain a time stamp are never the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Mapping

    # The parents of each stage, whose outputs it reads. Every stage is a key.
    Parents = Mapping[str, Collection[str]]

# Hours to wait after a training, percent of new rows, failures, and a difference of scores.
PAUSE, PERCENT, FAILURES, TOLERANCE = 12.0, 10, 2, 0.125


@dataclass(frozen=True)
class Facts:
    """The bot's input: higher scores are better; times are in hours."""

    now: float
    trained: float = -math.inf
    running: bool = False
    failures: int = 0
    rows: int = 0
    new_rows: int = 0
    score: float = 1.0
    expected: float = 1.0


def order(parents: Parents) -> list[str]:
    """Return the stages, parents first. Given."""
    return list(TopologicalSorter(parents).static_order())


def drawn(ends: Mapping[str, float], seconds: Mapping[str, float], ran: Collection[str]) -> str:
    """Return a line for each stage that ran, with a character for each second. Given."""
    return "\n".join(
        f"{name:<9}{' ' * round(end - seconds[name])}{'=' * round(seconds[name])} {end:.0f}"
        for name, end in ends.items()
        if name in ran
    )


def rerun(parents: Parents, changed: Collection[str], run: Callable[[str], bool]) -> list[str]:
    """Run the stages that must run again, parents first, and return their names in that order.

    A stage must run if it has changed itself, or if the output of one of its parents has changed
    tonight. ``run(name)`` runs a stage, and returns whether its output has changed.
    """
    # TODO
    raise NotImplementedError("rerun")


def ends(parents: Parents, seconds: Mapping[str, float], ran: Collection[str]) -> dict[str, float]:
    """Return the time, in seconds, at which each stage of the pipeline ends, parents first.

    A stage starts when all of its parents have ended; one without parents starts at 0. A stage
    that is not in `ran` takes no time.
    """
    # TODO
    raise NotImplementedError("ends")


def critical(parents: Parents, seconds: Mapping[str, float], ran: Collection[str]) -> list[str]:
    """Return the stages of the longest path that ran, parents first.

    Their seconds add up to the end of the night. A path goes from parent to child; stages on it
    that did not run are left out.
    """
    # TODO: begin at the end.
    raise NotImplementedError("critical")


def decide(facts: Facts) -> str:
    """Return what the bot does now, by the first rule that applies.

    "wait"    a training is running
    "ask"     FAILURES or more trainings have failed in a row: a person has to look
    "wait"    the last training was less than PAUSE hours ago
    "train"   there are at least PERCENT percent as many new rows as rows that the model has seen,
              even if it has seen none
    "train"   the score is NaN, or lower than expected by more than TOLERANCE
    "wait"    otherwise
    """
    # TODO
    raise NotImplementedError("decide")
