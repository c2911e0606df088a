"""PyTorch's own pipeline schedules as data, and a simulator that runs them. Shared by tests.

An action is a tuple (kind, stage, number): "F" is the forward of micro-batch `number` in a stage,
"B" its backward, or "I" and "W" the two halves of that: the gradient of the input, and those of
the weights. Stage s is on rank ``s % ranks``.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    Action = tuple[str, int, int]
    # What one rank does, in order.
    Order = list[Action]


class Stage:
    """What a schedule needs of a stage before it runs: no module, no process group."""

    def __init__(self, index: int, ranks: int, stages: int) -> None:
        self.stage_index, self.num_stages = index, stages
        self.group_size, self.group_rank = ranks, 0
        self.is_first, self.is_last = index == 0, index == stages - 1

    def __getattr__(self, name: str) -> Any:
        """Return None for any other attribute."""
        if name.startswith("__"):
            raise AttributeError(name)


@cache
def _made(name: str, ranks: int, chunks: int, count: int) -> tuple[Any, bool]:
    """Return one of PyTorch's schedules, and whether a rank has a single stage in it."""
    from torch.distributed.pipelining import schedules  # noqa: PLC0415 - takes seconds

    kind = schedules.get_schedule_class(name)
    stages = [Stage(chunk * ranks, ranks, ranks * chunks) for chunk in range(chunks)]
    single = issubclass(kind, schedules.PipelineScheduleSingle)
    return kind(stages[0] if single else stages, count), single


def theirs(name: str, ranks: int, chunks: int, count: int) -> list[Order]:
    """Return what each rank does in one of PyTorch's schedules; each rank has `chunks` stages."""
    made, single = _made(name, ranks, chunks, count)
    orders: list[Order] = []
    for rank in range(ranks):
        # The numbers of the last rank of Schedule1F1B begin at 1, so each stage's are counted.
        seen: dict[tuple[str, int], int] = defaultdict(int)
        orders.append([])
        for action in filter(None, made.pipeline_order[rank]):
            key = (str(action.computation_type.value), action.stage_index)
            if key[0] in "FBIW":
                number = seen[key] if single else action.microbatch_index
                seen[key] += 1
                orders[-1].append((*key, number))
    return orders


def received(name: str, ranks: int, chunks: int, count: int) -> dict[Action, set[Action]]:
    """Return which actions of other stages PyTorch receives for each action of a schedule."""
    made, _ = _made(name, ranks, chunks, count)
    found: dict[Action, set[Action]] = defaultdict(set)
    for program in made.pipeline_order_with_comms.values():
        for action in program:
            way, _, kind = str(action.computation_type.value).partition("_")
            if way == "RECV":
                stage, number = action.stage_index, action.microbatch_index
                found[kind, stage, number].add(
                    (kind, stage - 1 if kind == "F" else stage + 1, number)
                )
    return found


def played(
    orders: Sequence[Sequence[Action]], times: Mapping[str, int]
) -> list[list[tuple[int, int, Action]]]:
    """Return, for each rank, its actions as (start, end, action), each as early as possible.

    A forward needs the previous stage's forward; a backward needs the next stage's backward and its
    own forward; "W" needs the "I" of its stage. Sending takes no time.

    Raises
    ------
    AssertionError
        If the ranks deadlock.
    """
    __tracebackhide__ = True
    stages = 1 + max(stage for order in orders for _, stage, _ in order)
    done: dict[Action, int] = {}
    found: list[list[tuple[int, int, Action]]] = [[] for _ in orders]
    moved = True
    while moved:
        moved = False
        for mine, order in zip(found, orders, strict=True):
            for action in order[len(mine) :]:
                free = mine[-1][1] if mine else 0
                ends = [
                    min((done[each] for each in options if each in done), default=None)
                    for options in _wanted(*action, stages)
                ]
                if None in ends:
                    break
                start = max([free, *filter(None, ends)])
                done[action] = start + times[action[0]]
                mine.append((start, done[action], action))
                moved = True
    late = [
        (rank, order[len(mine)])
        for rank, (mine, order) in enumerate(zip(found, orders, strict=True))
        if len(mine) < len(order)
    ]
    assert not late, f"a deadlock: rank {late[0][0]} waits forever at {late[0][1]}"
    return found


def _wanted(kind: str, stage: int, number: int, stages: int) -> list[list[Action]]:
    """Return what an action waits for: one action from each list."""
    if kind == "F":
        return [[("F", stage - 1, number)]] if stage else []
    if kind == "W":
        return [[("I", stage, number)]]
    behind = [[(way, stage + 1, number) for way in "BI"]] if stage + 1 < stages else []
    return [[("F", stage, number)], *behind]


def idle(orders: Sequence[Sequence[Action]], times: Mapping[str, int]) -> list[int]:
    """Return, for each rank, how long it idles until the last rank has ended."""
    found = played(orders, times)
    last = max(mine[-1][1] for mine in found)
    return [last - sum(end - start for start, end, _ in mine) for mine in found]


def peak(order: Sequence[Action]) -> int:
    """Return the most forwards that a rank stores at once, each until its backward, or its "W"."""
    stored = most = 0
    for kind, _, _ in order:
        stored += (kind == "F") - (kind in "BW")
        most = max(most, stored)
    return most
