"""A pipeline: a model cut into stages, micro-batches, and two schedules."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import distributed as dist


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import Tensor
    from torch import nn

    Action = tuple[str, int]


def gpipe(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does, in order: all forwards, then all backwards."""
    return [(kind, number) for kind in "FB" for number in range(count)]


def one_f_one_b(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does, in order: forwards as a lead, then one of each in turn."""
    # While the first micro-batch goes to the end and back, each stage behind takes one more.
    lead = min(stages - 1 - stage, count)
    actions = [("F", number) for number in range(lead)]
    for number in range(count - lead):
        actions += [("F", lead + number), ("B", number)]
    return actions + [("B", number) for number in range(count - lead, count)]


def peak(actions: Sequence[Action]) -> int:
    """Return how many micro-batches a stage has stored at most."""
    return max(accumulate(1 if kind == "F" else -1 for kind, _ in actions))


def bubble(orders: Sequence[Sequence[Action]], forward: int, backward: int) -> Fraction:
    """Return the share of the stages' time in which they do nothing."""
    last = len(orders) - 1
    times = {"F": forward, "B": backward}
    waiting = [deque(order) for order in orders]
    clocks = [0] * len(orders)
    # When what an action needs is there. For the first stage's forwards it is from the start, and
    # for the last one's backwards too, since they come behind their own forwards.
    ready = {(0, "F", number): 0 for _, number in orders[0]}
    ready |= {(last, "B", number): 0 for _, number in orders[-1]}
    while any(waiting):
        able = [at for at, order in enumerate(waiting) if order and (at, *order[0]) in ready]
        if not able:
            raise ValueError("deadlock: every stage waits for another one")
        for stage in able:
            kind, number = waiting[stage].popleft()
            begin = max(clocks[stage], ready[stage, kind, number])
            clocks[stage] = begin + times[kind]
            ready[stage + (1 if kind == "F" else -1), kind, number] = clocks[stage]
    busy = sum(times[kind] for order in orders for kind, _ in order)
    return 1 - Fraction(busy, len(orders) * max(clocks))


def run_stage(
    part: nn.Module,
    actions: Sequence[Action],
    shape: tuple[int, ...],
    inputs: Sequence[Tensor],
    loss: Callable[[Tensor, int], Tensor],
) -> float | None:
    """Run this rank's stage of the pipeline; return the loss of the batch on the last rank."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    count = len(actions) // 2
    stored: dict[int, tuple[Tensor, Tensor]] = {}
    sends: list[dist.Work] = []
    total = 0.0
    for kind, number in actions:
        if kind == "F":
            if rank == 0:
                given = inputs[number]
            else:
                given = torch.empty(shape)
                dist.recv(given, rank - 1, tag=number)
                # A leaf of this stage's graph: backward leaves its gradient in .grad.
                given.requires_grad_()
            result = part(given)
            if rank == last:
                result = loss(result, number) / count
                total += result.item()
            else:
                # Not send: it waits until the next stage receives, and that stage may be waiting
                # likewise, with a gradient for this one.
                output = result.detach().contiguous()
                sends.append(dist.isend(output, rank + 1, tag=number))
            stored[number] = given, result
        else:
            given, result = stored.pop(number)
            gradient = None
            if rank < last:
                gradient = torch.empty(result.shape)
                dist.recv(gradient, rank + 1, tag=number)
            result.backward(gradient)
            if rank > 0:
                sends.append(dist.isend(given.grad, rank - 1, tag=number))
            # Else the last names for the graph would keep it until the next action.
            del given, result
    for send in sends:
        send.wait()
    return total if rank == last else None
