"""Tests of k07_wire: single lines, and the transcript of one training step of four ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import same
from katas.lecture13.k07_wire import Wire
from katas.lecture13.k07_wire import transcript


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    # DistributedDataParallel imports it when it is first used.
    pytest.mark.ranks_import("torch._dynamo"),
]


def one_sum() -> tuple[list[str], list[float]]:
    """Return the lines of one all-reduce among other operators, and its result."""
    with Wire() as wire:
        x = torch.ones(3) + 1
        dist.all_reduce(x)
        x = x * 2
    dist.all_reduce(x)
    return wire.lines, x.tolist()


def test_a_collective_is_a_line(world: World) -> None:
    """Three float32 are 12 bytes. An operator that sends nothing has no line, but still runs."""
    for lines, total in world(one_sum, 2, timeout=SOON):
        same(lines, ["allreduce 12 B"], "the lines of one all-reduce")
        same(total, [16.0] * 3, "2 + 2, times 2, then summed once more, when the mode has ended")


def talks() -> list[str]:
    """Return the lines of messages between two ranks, of int64."""
    x = torch.zeros(2, dtype=torch.int64)
    with Wire() as wire:
        if dist.get_rank():
            dist.recv(x, 0)
            dist.isend(x, 0).wait()
        else:
            dist.send(x, 1)
            dist.irecv(x, 1).wait()
    return wire.lines


def test_a_message_says_to_whom(world: World) -> None:
    """The destination of a send is dst, the source of a recv is src."""
    results = list(world(talks, 2, timeout=SOON))
    expected = [["send 16 B to 1", "recv 16 B from 1"], ["recv 16 B from 0", "send 16 B to 0"]]
    same(results, expected, "the lines of both ranks")


def more() -> list[str]:
    """Return the lines of collectives that take lists, and lists of lists."""
    x = torch.ones(4, dtype=torch.float64)
    with Wire() as wire:
        dist.broadcast(x, 0)
        dist.all_gather([torch.empty_like(x), torch.empty_like(x)], x)
        dist.reduce_scatter(torch.empty_like(x), [x, x])
        dist.all_to_all_single(torch.empty_like(x), x)
        dist.all_gather_into_tensor(torch.empty(8, dtype=torch.float64), x)
    return wire.lines


def test_tensors_in_lists_of_lists_count(world: World) -> None:
    """An all-gather takes one outgoing tensor and a list of incoming tensors."""
    expected = ["broadcast 32 B", "allgather 96 B", "reduce_scatter 96 B", "alltoall_base 64 B"]
    # c10d::_allgather_base_: only the last underscore is dropped.
    expected.append("_allgather_base 96 B")
    for lines in world(more, 2, timeout=SOON):
        same(lines, expected, "five collectives of four float64, on two ranks")


def step() -> list[str]:
    """Train for one step: two stages, and two replicas of each; return the lines of this rank."""
    rank = dist.get_rank()
    groups = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    part = nn.Linear(3, 4) if rank % 2 == 0 else nn.Linear(4, 2)
    with Wire() as wire:
        if rank % 2 == 0:
            activation = part(torch.ones(2, 3))
            dist.send(activation.detach(), rank + 1)
            gradient = torch.empty(2, 4)
            dist.recv(gradient, rank + 1)
            activation.backward(gradient)
        else:
            given = torch.empty(2, 4)
            dist.recv(given, rank - 1)
            part(given.requires_grad_()).square().mean().backward()
            dist.send(given.grad, rank - 1)
        flat = torch.cat([p.grad.flatten() for p in part.parameters()])
        dist.all_reduce(flat, group=groups[rank % 2])
    return wire.lines


def test_one_step_of_four_ranks(world: World) -> None:
    """Activations, gradients of activations, and the sum of the gradients of two replicas.

    The snapshot is the text that your mode has written.
    """
    text = transcript(list(world(step, 4, timeout=SOON)))
    assert_expected_inline(
        text,
        """\
rank 0: send 32 B to 1
rank 0: recv 32 B from 1
rank 0: allreduce 64 B
rank 1: recv 32 B from 0
rank 1: send 32 B to 0
rank 1: allreduce 40 B
rank 2: send 32 B to 3
rank 2: recv 32 B from 3
rank 2: allreduce 64 B
rank 3: recv 32 B from 2
rank 3: send 32 B to 2
rank 3: allreduce 40 B""",
    )


def replicated() -> list[str]:
    """Return the lines of one step of DistributedDataParallel."""
    ddp = DistributedDataParallel(nn.Linear(3, 4))
    with Wire() as wire:
        ddp(torch.ones(2, 3)).sum().backward()
    return wire.lines


def test_ddp_sends_one_bucket(world: World) -> None:
    """Weight and bias share an all-reduce, which PyTorch calls from C++: the mode sees it, too."""
    for lines in world(replicated, 2, timeout=SOON):
        same(lines, ["allreduce 64 B"], "a step of DistributedDataParallel around Linear(3, 4)")
