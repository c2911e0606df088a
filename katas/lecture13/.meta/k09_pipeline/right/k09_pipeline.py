"""A pipeline: a closure for each backward, and every message a batch of one operation."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
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
    return list(zip("F" * count + "B" * count, [*range(count)] * 2, strict=True))


def one_f_one_b(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does, in order: whoever has no room for a graph runs a backward."""
    room = stages - stage
    actions: list[Action] = []
    forwards = backwards = 0
    while backwards < count:
        if forwards < count and forwards - backwards < room:
            actions.append(("F", forwards))
            forwards += 1
        else:
            actions.append(("B", backwards))
            backwards += 1
    return actions


def peak(actions: Sequence[Action]) -> int:
    """Return how many micro-batches a stage has stored at most."""
    stored: set[int] = set()
    most = 0
    for kind, number in actions:
        (stored.add if kind == "F" else stored.remove)(number)
        most = max(most, len(stored))
    return most


def bubble(orders: Sequence[Sequence[Action]], forward: int, backward: int) -> Fraction:
    """Return the share of idle time: each end is the longest way to it, found by recursion."""
    places = [{action: at for at, action in enumerate(order)} for order in orders]
    stages = len(orders)

    @cache
    def end(stage: int, at: int) -> int:
        kind, number = orders[stage][at]
        begins = [end(stage, at - 1)] if at else [0]
        other = stage - 1 if kind == "F" else stage + 1
        if 0 <= other < stages:
            if (kind, number) not in places[other]:
                raise ValueError("deadlock: nobody makes what is waited for")
            begins.append(end(other, places[other][kind, number]))
        return max(begins) + (forward if kind == "F" else backward)

    try:
        total = max(end(stage, len(order) - 1) for stage, order in enumerate(orders))
    except RecursionError:
        raise ValueError("deadlock: an action waits for itself") from None
    busy = sum(forward if kind == "F" else backward for order in orders for kind, _ in order)
    return Fraction(total * stages - busy, total * stages)


def _batched(
    kind: Callable[..., object], tensor: Tensor, peer: int, number: int
) -> list[dist.Work]:
    return dist.batch_isend_irecv([dist.P2POp(kind, tensor, peer, tag=number)])


def _receive(shape: tuple[int, ...], source: int, number: int) -> Tensor:
    tensor = torch.empty(shape)
    for work in _batched(dist.irecv, tensor, source, number):
        work.wait()
    return tensor


def run_stage(
    part: nn.Module,
    actions: Sequence[Action],
    shape: tuple[int, ...],
    inputs: Sequence[Tensor],
    loss: Callable[[Tensor, int], Tensor],
) -> float | None:
    """Run this rank's stage; each message is a batch of one operation."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    forwards = [number for kind, number in actions if kind == "F"]
    sends: list[dist.Work] = []
    backwards: dict[int, Callable[[], None]] = {}
    losses: list[float] = []

    def run(number: int) -> None:
        x = _receive(shape, rank - 1, number).requires_grad_() if rank else inputs[number]
        y = part(x)
        if rank < stages - 1:
            sends.extend(_batched(dist.isend, y.detach().contiguous(), rank + 1, number))
        else:
            y = loss(y, number)
            losses.append(y.item())

        def back() -> None:
            scale = torch.full_like(y, 1 / len(forwards))
            if rank < stages - 1:
                scale = _receive(y.shape, rank + 1, number)
            torch.autograd.backward(y, scale)
            if rank:
                sends.extend(_batched(dist.isend, x.grad, rank - 1, number))

        backwards[number] = back

    for kind, number in actions:
        if kind == "F":
            run(number)
        else:
            backwards.pop(number)()
    for send in sends:
        send.wait()
    return sum(losses) / len(losses) if losses else None
