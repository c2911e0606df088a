"""Write interleaved 1F1B as data: who runs what, what each action waits for, what is stored.

A schedule is one list per rank and contains no tensors. Here is one of PyTorch's, for a rank with
stages 0 and 4, out of 4 ranks:

    0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 4B0 0F7 4B1 4F4 4B2 ...

With 4 ranks, micro-batches go in rounds of 4: 0 to 3 through stage 0, the same through
stage 4, then 4 to 7. A rank begins with a lead of forwards, then alternates one forward and one
backward, and ends with the remaining backwards.

1. `needs`: which actions must run before a given one.
2. `order`: one rank's list. Each rank's lead is 2 longer than the next rank's; the last rank's
   is (chunks - 1) rounds. (With one chunk, 1 longer will do: plain 1F1B.)
3. `peak`: how many micro-batches a rank stores at most.

Begin with the last of two ranks, with two stages each: write its first ten actions.
Afterwards compare ``_get_warmup_ops`` in ``torch/distributed/pipelining/schedules.py``, and ask
`peak` whether a smaller bubble is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    # "F" or "B", the stage, the micro-batch.
    Action = tuple[str, int, int]


def needs(action: Action, stages: int) -> list[Action]:
    """Return the actions that `action` waits for, in a pipeline of `stages` stages.

    Return an empty list for ("F", 0, i). For a backward, list its own forward first, then the next
    stage's backward.
    """
    # TODO: three cases.
    raise NotImplementedError("needs")


def order(rank: int, ranks: int, chunks: int, count: int) -> list[Action]:
    """Return what a rank does with `count` micro-batches, a multiple of `ranks`.

    The rank has `chunks` stages: `rank`, ``rank + ranks`` and so on. Backwards go through the
    stages from last to first, in the same rounds. The lead is at most the number of forwards.
    """
    # TODO: which round, stage and micro-batch does forward number k belong to?
    raise NotImplementedError("order")


def peak(actions: Sequence[Action]) -> int:
    """Return the most forwards that a rank stores at once, each until its backward."""
    # TODO: count up and down.
    raise NotImplementedError("peak")
