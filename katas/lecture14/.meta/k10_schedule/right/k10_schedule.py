"""Interleaved 1F1B as data; with one stage on each rank it is plain 1F1B, of shorter leads."""

from __future__ import annotations

from itertools import accumulate
from itertools import product
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    # "F" or "B", the stage, the micro-batch.
    Action = tuple[str, int, int]


def needs(action: Action, stages: int) -> list[Action]:
    """Return the actions that an action waits for, of `stages` stages."""
    kind, stage, number = action
    way = [("F", s, number) for s in range(stages)]
    if kind == "F":
        return way[:stage][-1:]
    return [way[stage], *[("B", s, number) for s in range(stage + 1, stages)][:1]]


def order(rank: int, ranks: int, chunks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` micro-batches, a multiple of `ranks`."""
    places = list(product(range(count // ranks), range(chunks), range(ranks)))
    forwards = [("F", c * ranks + rank, r * ranks + m) for r, c, m in places]
    backwards = [("B", (chunks - 1 - c) * ranks + rank, r * ranks + m) for r, c, m in places]
    step = 1 if chunks == 1 else 2
    lead = (chunks - 1) * ranks + step * (ranks - 1 - rank)
    made: list[Action] = []
    for at in range(len(forwards) + lead):
        made += forwards[at : at + 1]
        if at >= lead:
            made.append(backwards[at - lead])
    return made


def peak(actions: Sequence[Action]) -> int:
    """Return how many forwards a rank has stored at most, each until its backward."""
    steps = (1 if kind == "F" else -1 for kind, _, _ in actions)
    return max(accumulate(steps, initial=0))
