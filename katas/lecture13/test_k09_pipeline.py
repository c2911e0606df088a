"""Tests of k09_pipeline: the order of actions, what it costs, and a pipeline that runs."""

from __future__ import annotations

import weakref
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

from katas.lecture13 import k09_pipeline
from katas.lecture13.k09_pipeline import bubble
from katas.lecture13.k09_pipeline import gpipe
from katas.lecture13.k09_pipeline import one_f_one_b
from katas.lecture13.k09_pipeline import peak
from katas.lecture13.k09_pipeline import run_stage
from plugins.kit import Sent
from plugins.kit import forbids
from plugins.kit import unchanged


# PyTorch's pipelines, which take seconds to import.
THEIRS = "torch.distributed.pipelining"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(THEIRS, "numpy.random")]

# Ranks that wait for each other are stopped after so many seconds.
SOON = 6
SCHEDULES = {"gpipe": gpipe, "1f1b": one_f_one_b}
both = pytest.mark.parametrize("name", SCHEDULES)
SIZES = [(stages, count) for stages in (1, 2, 3, 4) for count in (1, 2, 3, 4, 7)]


def actions(text: str) -> list[tuple[str, int]]:
    """Return the actions that a text lists: ``"F0 B0"``."""
    return [(word[0], int(word[1:])) for word in text.split()]


def orders(name: str, stages: int, count: int) -> list[list[tuple[str, int]]]:
    """Return the actions of all stages."""
    return [SCHEDULES[name](stage, stages, count) for stage in range(stages)]


def test_gpipe_runs_all_forwards_first() -> None:
    """On every stage alike."""
    for stage in range(3):
        check_order("gpipe", (stage, 3, 4), "F0 F1 F2 F3 B0 B1 B2 B3")


def check_order(name: str, args: tuple[int, int, int], expected: str) -> None:
    """Compare what a stage does with what it should do."""
    found = " ".join(f"{kind}{number}" for kind, number in SCHEDULES[name](*args))
    assert expected == found, (
        f"{name}: stage {args[0]} of {args[1]}, {args[2]} micro-batches\n"
        f"yours:    {found}\nexpected: {expected}"
    )


def test_the_last_stage_of_1f1b_alternates() -> None:
    """It has no stage behind it to wait for."""
    check_order("1f1b", (2, 3, 3), "F0 B0 F1 B1 F2 B2")


def test_earlier_stages_of_1f1b_have_a_lead() -> None:
    """Of one forward for each stage behind them."""
    check_order("1f1b", (1, 3, 4), "F0 F1 B0 F2 B1 F3 B2 B3")
    check_order("1f1b", (0, 3, 4), "F0 F1 F2 B0 F3 B1 B2 B3")


def test_a_lead_is_no_longer_than_the_batch() -> None:
    """With fewer micro-batches than stages, all forwards are the lead."""
    check_order("1f1b", (0, 4, 2), "F0 F1 B0 B1")
    check_order("1f1b", (1, 4, 2), "F0 F1 B0 B1")
    check_order("1f1b", (0, 4, 1), "F0 B0")


def test_gpipe_stores_the_batch_and_1f1b_the_pipeline() -> None:
    """The peak of 1F1B does not grow with the number of micro-batches."""
    for stages, count in SIZES:
        fewer = [min(stages - stage, count) for stage in range(stages)]
        for name, expected in (("gpipe", [count] * stages), ("1f1b", fewer)):
            found = [peak(order) for order in orders(name, stages, count)]
            assert expected == found, (
                f"{name}, {count} micro-batches: stored on each of {stages} stages\n"
                f"yours:    {found}\nexpected: {expected}"
            )


def test_the_peak_of_any_order() -> None:
    """It need not be reached at the end, nor at the beginning."""
    for order, expected in (("F0 B0 F1 B1", 1), ("F0 B0 F1 F2 B2 F3 F4 B1 B4 B3", 3)):
        found = peak(actions(order))
        assert expected == found, f"{order} stores {expected} at most; yours: {found}"


def test_one_batch_at_a_time_leaves_all_stages_but_one_idle() -> None:
    """However long forward and backward take: three of four stages."""
    order = actions("F0 B0 F1 B1 F2 B2")

    check_bubble([order], (1, 2), Fraction(0))
    check_bubble([order] * 2, (1, 2), Fraction(1, 2))
    check_bubble([order] * 4, (5, 3), Fraction(3, 4))


def check_bubble(stages: Any, times: tuple[int, int], expected: Fraction) -> None:
    """Compare the idle share of stages with what it should be."""
    given = [list(order) for order in stages]
    found = bubble(stages, *times)
    told = ["".join(f" {kind}{number}" for kind, number in order) for order in given]
    assert expected == found, (
        f"stages that do{';'.join(told)}, a forward in {times[0]} and a backward in {times[1]}\n"
        f"yours:    {found}\nexpected: {expected}"
    )
    assert isinstance(found, Fraction), f"a Fraction, which is exact; yours: {type(found)}"
    assert given == stages, f"yours changes the orders that it was given: {stages}"


@both
def test_the_bubble_shrinks_with_more_micro_batches(name: str) -> None:
    """It is (p - 1) / (m + p - 1) in both schedules: 1F1B saves memory, and no time."""
    for stages, count in SIZES:
        expected = Fraction(stages - 1, count + stages - 1)
        for forward, backward in [(1, 2), (1, 1), (5, 3)]:
            check_bubble(orders(name, stages, count), (forward, backward), expected)


def test_the_bubble_of_other_orders() -> None:
    """Nothing else is known of them than which action needs which."""
    first, second = actions("F0 F1 B1 B0"), actions("F0 F1 B1 B0")
    # 0: F0 0-1, F1 1-2, B1 5-7, B0 7-9.  1: F0 1-2, F1 2-3, B1 3-5, B0 5-7.
    check_bubble([first, second], (1, 2), Fraction(6, 18))
    # 0: F0 0-2, B0 5-8, F1 8-10, B1 13-16.  1: F0 2-4, ..., two batches, one after the other.
    check_bubble([actions("F0 B0 F1 B1"), actions("F0 B0 F1 B1")], (2, 3), Fraction(1, 2))
    # 1 does its forwards as they come: F0 1-2, F1 2-3, F2 3-4, and 0 has to wait for B2 at last.
    mixed = [actions("F0 F1 F2 B2 B1 B0"), actions("F0 F1 F2 B0 B1 B2")]
    check_bubble(mixed, (1, 2), Fraction(2 * 16 - 18, 2 * 16))
    # Of unequal length: the second stage stops after one micro-batch.
    check_bubble([actions("F0 B0"), actions("F0 B0")], (3, 5), Fraction(1, 2))


def test_stages_that_wait_for_each_other_are_told() -> None:
    """The first wants the gradient of micro-batch 1, the second its activation."""
    waiting = [actions("F0 B1 F1 B0"), actions("F0 F1 B0 B1")]

    with pytest.raises(ValueError, match="deadlock"):
        bubble(waiting, 1, 2)
    with pytest.raises(ValueError, match="deadlock"):
        bubble([actions("F0 B0"), actions("F1 B1")], 1, 2)


class Transposed(nn.Module):
    """Ends a stage with a tensor that is not contiguous."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the transpose."""
        return x.t()


# Of each stage: its module and the shape of what it is given, for micro-batches of 2.
WIDTHS = [3, 5, 4, 6]


def parts_of(stages: int) -> list[nn.Module]:
    """Return the stages of a model; each has another width, and they end transposed."""
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


def shape_of(stage: int) -> tuple[int, int]:
    """Return the shape of what a stage is given."""
    return (WIDTHS[stage], 2)


def batch(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets of a batch of so many micro-batches, of 2 each."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2 * count, WIDTHS[0], generator=generator)
    return x, torch.randn(2 * count, 2, generator=generator)


class Loss:
    """The mean loss of a micro-batch; remembers who was asked for."""

    def __init__(self, targets: torch.Tensor) -> None:
        self.targets = targets.split(2)
        self.asked: list[int] = []

    def __call__(self, output: torch.Tensor, number: int) -> torch.Tensor:
        """Return a tensor without dimensions."""
        self.asked.append(number)
        return F.mse_loss(output, self.targets[number])


def whole(stages: int, count: int) -> tuple[float, list[list[torch.Tensor]]]:
    """Return the loss of the unsplit model on the batch, and each stage's gradients."""
    parts = parts_of(stages)
    x, targets = batch(count)
    # The transposes between two stages undo each other.
    loss = F.mse_loss(nn.Sequential(*parts)(x), targets)
    loss.backward()
    return loss.item(), [gradients(part) for part in parts]


def gradients(part: nn.Module) -> list[torch.Tensor]:
    """Return the gradients of a module's parameters."""
    return [parameter.grad for parameter in part.parameters() if parameter.grad is not None]


def pipeline(order: list[list[tuple[str, int]]], times: int = 1) -> Any:
    """Run this rank's stage, perhaps several times; return the last loss and the gradients."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    part = parts_of(stages)[rank]
    x, targets = batch(len(order[rank]) // 2)
    inputs = list(x.split(2)) if rank == 0 else []
    loss = Loss(targets if rank == stages - 1 else torch.empty(0))
    with unchanged(but={"grad"}, part=part, inputs=inputs, targets=targets):
        for _ in range(times):
            value = run_stage(part, order[rank], shape_of(rank), inputs, loss)
    assert part.training, "yours leaves the part in eval mode, and its caller trains it"
    return value, gradients(part)


def check(results: Any, stages: int, count: int, times: int = 1) -> None:
    """Assert that a pipeline gave what the unsplit model gives."""
    expected, wanted = whole(stages, count)
    for rank, (value, found) in enumerate(results):
        if rank < stages - 1:
            assert value is None, f"rank {rank} is not the last one, and returned {value}"
        else:
            assert isinstance(value, float), f"the loss of the batch, a float; yours: {value!r}"
            assert abs(value - expected) < 1e-5, (
                f"the mean of the micro-batches' losses\nyours:    {value}\nexpected: {expected}"
            )
        wide = [gradient * times for gradient in wanted[rank]]
        torch.testing.assert_close(
            found, wide, msg=lambda text, rank=rank: f"gradients of rank {rank}: {text}"
        )


def test_one_micro_batch_through_two_stages(world: Any) -> None:
    """An activation goes forward, a gradient comes back."""
    check(world(pipeline, 2, orders("gpipe", 2, 1), timeout=SOON), 2, 1)


@both
def test_two_stages_give_the_gradients_of_the_whole_model(world: Any, name: str) -> None:
    """On the whole batch. In 1F1B both ranks have something for the other at the same time."""
    check(world(pipeline, 2, orders(name, 2, 4), timeout=SOON), 2, 4)


@both
def test_any_number_of_stages(world: Any, name: str) -> None:
    """Middle stages pass both ways; a pipeline of one stage sends nothing."""
    alone = world(pipeline, 1, orders(name, 1, 3), timeout=SOON)
    check(alone, 1, 3)
    assert () == alone.calls[0], f"there is nobody to talk to; yours calls {alone.calls[0]}"
    check(world(pipeline, 3, orders(name, 3, 2), timeout=SOON), 3, 2)
    check(world(pipeline, 4, orders(name, 4, 5), timeout=SOON), 4, 5)


def test_gradients_add_up_over_batches(world: Any) -> None:
    """As backward() does it; who wants them gone sets them to None."""
    check(world(pipeline, 2, orders("1f1b", 2, 3), 2, timeout=SOON), 2, 3, times=2)


def test_any_order_is_run(world: Any) -> None:
    """The last gradient first, say, as GPipe's paper draws it."""
    order = actions("F1 F0 F2 B2 B0 B1")
    check(world(pipeline, 3, [order] * 3, timeout=SOON), 3, 3)


def test_stages_may_differ_in_their_order(world: Any) -> None:
    """What comes first need not be what is asked for first: a message has a tag."""
    order = [actions("F0 F1 F2 B2 B0 B1"), actions("F2 F0 B2 F1 B1 B0")]
    check(world(pipeline, 2, order, timeout=SOON), 2, 3)


@both
def test_each_activation_and_each_gradient_is_one_message(world: Any, name: str) -> None:
    """Of 4 bytes for each of its numbers, between neighbours; there is nothing else."""
    results = world(pipeline, 3, orders(name, 3, 4), timeout=SOON)
    first, second = 4 * 2 * WIDTHS[1], 4 * 2 * WIDTHS[2]

    for rank, expected, what in (
        (0, Sent(4, 4 * first), "4 activations"),
        (1, Sent(8, 4 * (first + second)), "4 activations on, 4 gradients back"),
        (2, Sent(4, 4 * second), "4 gradients"),
    ):
        found = results.sent(rank)
        assert expected == found, f"rank {rank} sends {what}: {expected}; yours: {found}"
    for rank, calls in enumerate(results.calls):
        used, far = {call.name for call in calls}, {abs(call.peer - rank) for call in calls}
        assert {"send", "recv"} == used, f"point to point alone; rank {rank} of yours calls {used}"
        assert {1} == far, f"neighbours alone talk; rank {rank} of yours talks at distances {far}"


class Token:
    """Stands for what forward of one micro-batch has saved."""


class Watched(torch.autograd.Function):
    """Writes down when it runs, and keeps a token for as long as its graph lives."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, log: list[str], tokens: Any) -> torch.Tensor:
        """Return the same values."""
        log.append("F")
        ctx.log, ctx.token = log, Token()
        tokens.add(ctx.token)
        log.append(len(tokens))
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
        self.log: list[Any] = []
        self.tokens: weakref.WeakSet[Token] = weakref.WeakSet()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the stage returns."""
        return Watched.apply(self.part(x), self.log, self.tokens)


def watched(order: list[list[tuple[str, int]]]) -> Any:
    """Return what ran in this rank's stage, and how many graphs lived when a forward ran."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    part = Watching(parts_of(stages)[rank])
    x, targets = batch(len(order[rank]) // 2)
    run_stage(part, order[rank], shape_of(rank), list(x.split(2)), loss := Loss(targets))
    kinds = [entry for entry in part.log if isinstance(entry, str)]
    return kinds, max(entry for entry in part.log if isinstance(entry, int)), loss.asked


@both
def test_actions_are_done_in_their_order(world: Any, name: str) -> None:
    """And on the last rank alone a loss is computed, once for each micro-batch."""
    order = orders(name, 3, 5)
    for rank, (kinds, _, asked) in enumerate(world(watched, 3, order, timeout=SOON)):
        expected = [kind for kind, _ in order[rank]]
        assert expected == kinds, f"{name}, rank {rank}\nyours:    {kinds}\nexpected: {expected}"
        assert ([] if rank < 2 else [0, 1, 2, 3, 4]) == asked, (
            f"each loss once, on the last rank alone; rank {rank} of yours asks for {asked}"
        )


def test_a_graph_is_let_go_with_its_backward(world: Any) -> None:
    """The memory that 1F1B saves is that of the graphs that are no more."""
    order = orders("1f1b", 3, 6)
    found = [most for _, most, _ in world(watched, 3, order, timeout=SOON)]

    assert [3, 2, 1] == found, (
        f"graphs that live at the same time, on each rank; yours: {found}, expected: [3, 2, 1]. "
        f"A name that still refers to an output keeps its graph"
    )


SCHEDULES_OF_PYTORCH = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B"}


def real(name: str, count: int) -> list[str]:
    """Return what ran in this rank's stage of PyTorch's pipeline."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    # Its stages take batches, so the model is one that keeps their shape.
    part = Watching(nn.Linear(2, 2))
    pipelining = import_module(THEIRS)
    stage = pipelining.PipelineStage(part, rank, stages, torch.device("cpu"))
    schedule_class = getattr(pipelining, SCHEDULES_OF_PYTORCH[name])
    schedule = schedule_class(stage, count, loss_fn=F.mse_loss)
    x = torch.ones(2 * count, 2)
    for _ in range(2):
        # In the first step it runs a forward more, to learn the shapes.
        part.log.clear()
        schedule.step(*([x] if rank == 0 else []), **({"target": x} if rank == stages - 1 else {}))
    return [entry for entry in part.log if isinstance(entry, str)]


@both
def test_schedules_are_those_of_pytorch(world: Any, name: str) -> None:
    """It runs forwards and backwards in the same order."""
    found = [[kind for kind, _ in order] for order in orders(name, 3, 4)]

    theirs = list(world(real, 3, name, 4, timeout=10))
    assert theirs == found, f"{name}, by stage\nyours:     {found}\nPyTorch's: {theirs}"


def unwaited(order: list[list[tuple[str, int]]]) -> int:
    """Return how many of this rank's sends nobody has waited for."""
    waited: set[int] = set()
    works = []
    work_class, group_class = dist.Work, dist.ProcessGroup
    wait, send = work_class.wait, group_class.send

    def noted_wait(work: Any, *args: Any) -> Any:
        waited.add(id(work))
        return wait(work, *args)

    def noted_send(group: Any, *args: Any) -> Any:
        works.append(send(group, *args))
        return works[-1]

    work_class.wait, group_class.send = noted_wait, noted_send
    pipeline(order)
    return sum(id(work) not in waited for work in works)


@both
def test_every_send_is_waited_for(world: Any, name: str) -> None:
    """A send owns the memory of its tensor until somebody has waited for it."""
    found = list(world(unwaited, 3, orders(name, 3, 3), timeout=SOON))
    assert [0, 0, 0] == found, (
        f"sends of yours that nobody waits for, by rank: {found}. Call wait() of what isend "
        f"returns, before run_stage does"
    )


def without_pipelining() -> bool:
    """Return whether a stage of two has gradients where PyTorch's own are not to be used."""
    rank, order = dist.get_rank(), orders("1f1b", 2, 2)
    part, (x, targets) = parts_of(2)[rank], batch(2)
    with forbids(k09_pipeline, "torch.distributed.pipelining") as fresh:
        inputs = list(x.split(2)) if rank == 0 else []
        fresh.run_stage(part, order[rank], shape_of(rank), inputs, Loss(targets))
    return bool(gradients(part))


def test_nothing_ready_made_is_called(world: Any) -> None:
    """Not torch.distributed.pipelining, whose schedules and stages are built here."""
    found = list(world(without_pipelining, 2, timeout=SOON))
    assert [True, True] == found, f"has each rank of yours gradients? {found}"
