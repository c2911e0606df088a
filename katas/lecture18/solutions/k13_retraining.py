"""Rerun what a change requires, and nothing else."""

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
    """Run the stages that must run again, parents first, and return their names in that order."""
    ran, different = list[str](), set[str]()
    for name in order(parents):
        if name in changed or not different.isdisjoint(parents[name]):
            ran.append(name)
            if run(name):
                different.add(name)
    return ran


def ends(parents: Parents, seconds: Mapping[str, float], ran: Collection[str]) -> dict[str, float]:
    """Return the time, in seconds, at which each stage of the pipeline ends, parents first."""
    found: dict[str, float] = {}
    for name in order(parents):
        start = max((found[parent] for parent in parents[name]), default=0.0)
        found[name] = start + (seconds[name] if name in ran else 0.0)
    return found


def critical(parents: Parents, seconds: Mapping[str, float], ran: Collection[str]) -> list[str]:
    """Return the stages of the longest path that ran, parents first."""
    found = ends(parents, seconds, ran)
    path = [max(found, key=found.__getitem__)] if found else []
    while path and parents[path[-1]]:
        path.append(max(parents[path[-1]], key=found.__getitem__))
    return [name for name in reversed(path) if name in ran]


def decide(facts: Facts) -> str:
    """Return what the bot does now, by the first rule that applies."""
    if facts.running:
        return "wait"
    if facts.failures >= FAILURES:
        return "ask"
    if facts.now - facts.trained < PAUSE:
        return "wait"
    good = facts.score >= facts.expected - TOLERANCE
    return "train" if 100 * facts.new_rows >= PERCENT * facts.rows or not good else "wait"
