"""Tests of k19_pipeline: gradients of the whole model, messages, and what is freed."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

from katas.lecture13 import k19_pipeline
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k19_pipeline import run_stage
from plugins.kit import Sent
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World

    Orders = list[list[tuple[str, int]]]


pytestmark = pytest.mark.backend("gloo")


def orders(*texts: str) -> Orders:
    """Return the actions that texts list, one for each stage: ``"F0 B0"``."""
    return [[(word[0], int(word[1:])) for word in text.split()] for text in texts]


GPIPE = orders(*["F0 F1 F2 B0 B1 B2"] * 3)
ONE_F_ONE_B = orders(
    "F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"
)
TWO = orders("F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2")
# The width of each stage's input, for micro-batches of 2.
WIDTHS = [3, 5, 4]


class Transposed(nn.Module):
    """Ends a stage with a tensor that is not contiguous."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the transpose."""
        return x.t()


def parts_of(stages: int) -> list[nn.Module]:
    """Return the stages of a model; each has a different width, and they end transposed."""
    torch.manual_seed(0)
    widths = [*WIDTHS[:stages], 2]
    return [
        nn.Sequential(
            *([Transposed()] if stage else []),
            nn.Linear(widths[stage], widths[stage + 1]),
            nn.Tanh(),
            *([Transposed()] if stage < stages - 1 else []),
        )
        for stage in range(stages)
    ]


def batch(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets of a batch of this many micro-batches, of 2 each."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2 * count, WIDTHS[0], generator=generator)
    return x, torch.randn(2 * count, 2, generator=generator)


def gradients(part: nn.Module) -> list[torch.Tensor]:
    """Return the gradients of a module's parameters."""
    return [p.grad for p in part.parameters() if p.grad is not None]


def pipeline(order: Orders, times: int = 1, run: Any = None) -> tuple[float | None, Any]:
    """Run this rank's stage, perhaps several times; return the last loss and the gradients."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    part = parts_of(stages)[rank]
    x, targets = batch(len(order[rank]) // 2)
    inputs = list(x.split(2)) if rank == 0 else []

    def loss(output: torch.Tensor, number: int) -> torch.Tensor:
        assert rank == stages - 1, (
            f"your rank {rank} asks for a loss, but only the last rank has one"
        )
        return F.mse_loss(output, targets.split(2)[number])

    for _ in range(times):
        value = (run or run_stage)(part, order[rank], (WIDTHS[rank], 2), inputs, loss)
    return value, gradients(part)


def check(results: Any, count: int, times: int = 1) -> None:
    """Compare what a pipeline gave with what the unsplit model gives on the whole batch."""
    __tracebackhide__ = True
    parts = parts_of(len(results))
    x, targets = batch(count)
    # The transposes between two stages undo each other.
    loss = F.mse_loss(nn.Sequential(*parts)(x), targets)
    loss.backward()
    for rank, (value, found) in enumerate(results):
        if rank < len(results) - 1:
            same(value, None, f"what rank {rank} returns, which is not the last one")
        else:
            same(type(value), float, f"the type of the loss, {value!r}")
            what = "the mean of the micro-batches' losses"
            close(torch.tensor(value), loss.detach(), what, rtol=1e-5, atol=1e-6)
        same(len(found), 2, f"gradients on rank {rank}: of a weight and a bias")
        for name, mine, right in zip(
            ("weight", "bias"), found, gradients(parts[rank]), strict=True
        ):
            what = f"the gradient of the {name} of rank {rank}"
            what += f", after {times} batches without zero_grad" if times > 1 else ""
            close(mine, right * times, what, rtol=1e-4, atol=1e-6)


def test_one_micro_batch_through_two_stages(world: World) -> None:
    """An activation goes forward, a gradient comes back."""
    check(world(pipeline, 2, orders("F0 B0", "F0 B0"), timeout=SOON), 1)


def test_1f1b_on_two_stages(world: World) -> None:
    """Both ranks have something to send to each other at the same time."""
    check(world(pipeline, 2, TWO, timeout=SOON), 3)


def test_three_stages_in_two_schedules(world: World) -> None:
    """Middle stages send both ways; a second batch adds to the gradients of the first."""
    check(world(pipeline, 3, GPIPE, 2, timeout=SOON), 3, 2)
    check(world(pipeline, 3, ONE_F_ONE_B, timeout=SOON), 4)


def test_a_stage_alone_sends_nothing(world: World) -> None:
    """A single stage is both first and last."""
    alone = world(pipeline, 1, orders("F0 B0 F1 B1"), timeout=SOON)
    check(alone, 2)
    same(alone.calls[0], (), "what a rank alone calls")


def test_stages_may_differ_in_their_order(world: World) -> None:
    """Messages need not arrive in the order in which they are received: each has a tag."""
    mixed = orders("F0 F1 F2 B2 B0 B1", "F2 F0 B2 F1 B1 B0")
    check(world(pipeline, 2, mixed, timeout=SOON), 3)


def test_each_activation_and_each_gradient_is_one_message(world: World) -> None:
    """Messages between neighbours have 4 bytes per number; there are no other messages."""
    results = world(pipeline, 3, ONE_F_ONE_B, timeout=SOON)
    first, second = 4 * 2 * WIDTHS[1], 4 * 2 * WIDTHS[2]
    for rank, expected, what in (
        (0, Sent(4, 4 * first), "4 activations"),
        (1, Sent(8, 4 * (first + second)), "4 activations on, 4 gradients back"),
        (2, Sent(4, 4 * second), "4 gradients"),
    ):
        same(results.sent(rank), expected, f"what rank {rank} sends: {what}")
        used = {call.name for call in results.calls[rank]}
        same(used, {"send", "recv"}, f"what rank {rank} calls")


class Token:
    """Stands for what forward of one micro-batch has saved."""


class Watched(torch.autograd.Function):
    """Records when it runs, and keeps a token for as long as its graph lives."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, log: list[str], tokens: Any) -> torch.Tensor:
        """Return the same values."""
        ctx.log, ctx.token = log, Token()
        tokens.add(ctx.token)
        log.append(f"F{len(tokens)}")
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        """Return the same gradient."""
        ctx.log.append("B")
        return gradient, None, None


class Watching(nn.Module):
    """A stage that is watched."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part
        self.log: list[str] = []
        self.tokens: weakref.WeakSet[Token] = weakref.WeakSet()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the stage returns."""
        return Watched.apply(self.part(x), self.log, self.tokens)


def watched(order: Orders) -> tuple[list[str], int]:
    """Return what ran in this rank's stage with the graphs alive, and the sends not waited for."""
    rank = dist.get_rank()
    part = Watching(parts_of(dist.get_world_size())[rank])
    x, targets = batch(len(order[rank]) // 2)
    sends, waited = [], set()
    wait, send = dist.Work.wait, dist.ProcessGroup.send

    def noted_wait(work: Any, *args: Any) -> Any:
        waited.add(id(work))
        return wait(work, *args)

    def noted_send(group: Any, *args: Any) -> Any:
        sends.append(send(group, *args))
        return sends[-1]

    dist.Work.wait, dist.ProcessGroup.send = noted_wait, noted_send
    run_stage(
        part,
        order[rank],
        (WIDTHS[rank], 2),
        list(x.split(2)),
        lambda output, number: F.mse_loss(output, targets.split(2)[number]),
    )
    return part.log, sum(id(work) not in waited for work in sends)


def test_a_stage_holds_no_more_than_it_needs(world: World) -> None:
    """In 1F1B a stage holds a graph for each later stage, plus one. Every send is waited for."""
    expected = [
        ["F1", "F2", "F3", "B", "F3", "B", "B", "B"],
        ["F1", "F2", "B", "F2", "B", "F2", "B", "B"],
        ["F1", "B"] * 4,
    ]
    for rank, (log, unwaited) in enumerate(world(watched, 3, ONE_F_ONE_B, timeout=SOON)):
        what = f"rank {rank}: forwards, each with the number of graphs alive, and backwards"
        same(log, expected[rank], what)
        same(unwaited, 0, f"sends of rank {rank} that nobody waits for: wait before you return")


def by_fresh_import() -> int:
    """Return how many gradients there are, with PyTorch's pipelines forbidden."""
    with forbids(k19_pipeline, "torch.distributed.pipelining") as fresh:
        return len(pipeline(TWO, 1, fresh.run_stage)[1])


def test_nothing_ready_made_is_called(world: World) -> None:
    """torch.distributed.pipelining is not called: its stage is built here."""
    same(list(world(by_fresh_import, 2, timeout=SOON)), [2, 2], "gradients on each rank")
