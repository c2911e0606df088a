"""Write interleaved 1F1B as data: who runs what, what each action waits for, what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    # "F" or "B", the stage, the micro-batch.
    Action = tuple[str, int, int]


def needs(action: Action, stages: int) -> list[Action]:
    """Return the actions that `action` waits for, in a pipeline of `stages` stages."""
    kind, stage, number = action
    if kind == "F":
        return [("F", stage - 1, number)] if stage else []
    behind = [("B", stage + 1, number)] if stage + 1 < stages else []
    return [("F", stage, number), *behind]


def order(rank: int, ranks: int, chunks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` micro-batches, a multiple of `ranks`."""
    forwards, backwards = [], []
    for first in range(0, count, ranks):
        for chunk in range(chunks):
            for number in range(first, first + ranks):
                forwards.append(("F", chunk * ranks + rank, number))
                backwards.append(("B", (chunks - 1 - chunk) * ranks + rank, number))
    lead = min((chunks - 1) * ranks + 2 * (ranks - 1 - rank), len(forwards))
    turns = [each for pair in zip(forwards[lead:], backwards, strict=False) for each in pair]
    return [*forwards[:lead], *turns, *backwards[len(forwards) - lead :]]


def peak(actions: Sequence[Action]) -> int:
    """Return the most forwards that a rank stores at once, each until its backward."""
    stored = most = 0
    for kind, _, _ in actions:
        stored += 1 if kind == "F" else -1
        most = max(most, stored)
    return most
