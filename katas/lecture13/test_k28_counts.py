"""Tests of k28_counts: the loss curve of one process, on any number of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

from katas.lecture13 import k28_counts
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k28_counts import train_step
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World

    Batch = tuple[torch.Tensor, torch.Tensor]


# The optimizers import it when they are first used.
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import("torch._dynamo")]


def net() -> nn.Module:
    """Return a model of 4 features and 3 classes, the same on all ranks."""
    torch.manual_seed(9)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def batches(*sizes: int, ignored: Sequence[int] = ()) -> list[Batch]:
    """Return batches of this many rows; the targets of some rows are to be ignored."""
    generator = torch.Generator().manual_seed(len(sizes))
    made = []
    for size in sizes:
        y = torch.randint(3, (size,), generator=generator)
        y[[row for row in ignored if row < size]] = -100
        made.append((torch.randn(size, 4, generator=generator).double(), y))
    return made


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """Return SGD with momentum, which makes each step depend on all earlier ones."""
    return torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)


def alone(data: list[Batch], max_norm: float) -> tuple[list[Any], list[torch.Tensor]]:
    """Return losses and accuracies of one process with all rows, and the parameters."""
    model = net()
    optimizer = optimizer_of(model)
    curve = []
    for x, y in data:
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        known = y != -100
        accuracy = (logits.argmax(1) == y)[known].double().mean()
        curve.append((loss.item(), accuracy.item()))
    return curve, [p.detach() for p in model.parameters()]


def together(data: list[Batch], max_norm: float) -> tuple[list[Any], list[torch.Tensor]]:
    """Return the same of this rank: the first ranks have one row more, some have none."""
    model = net()
    optimizer = optimizer_of(model)
    curve = []
    for x, y in data:
        rank, (each, more) = dist.get_rank(), divmod(len(x), dist.get_world_size())
        start = rank * each + min(rank, more)
        rows = slice(start, start + each + (rank < more))
        mine = y[rows].clone()
        curve.append(train_step(model, optimizer, x[rows], mine, max_norm))
        same(mine.tolist(), y[rows].tolist(), f"the targets of rank {rank}, after a step")
    return curve, [p.detach().clone() for p in model.parameters()]


def compare(world: World, size: int, data: list[Batch], max_norm: float = 1e9) -> Any:
    """Check that training on `size` ranks is that of one process."""
    __tracebackhide__ = True
    results = world(together, size, data, max_norm, timeout=2 * SOON)
    curve, parameters = alone(data, max_norm)
    for rank, (found, trained) in enumerate(results):
        for step, (expected, mine) in enumerate(zip(curve, found, strict=True)):
            where = f"of step {step} on rank {rank} of {size}"
            for name, one, other in zip(("loss", "accuracy"), mine, expected, strict=True):
                numbers = torch.tensor(one).double(), torch.tensor(other).double()
                close(*numbers, f"the {name} {where}", rtol=1e-6)
        for number, (mine, right) in enumerate(zip(trained, parameters, strict=True)):
            close(
                mine, right, f"parameter {number} of rank {rank} of {size}, at the end", rtol=1e-6
            )
    return results


def test_one_rank_trains_as_without_ranks(world: World) -> None:
    """Each of three steps uses only its own gradients."""
    compare(world, 1, batches(8, 8, 8))


def test_the_loss_curve_is_the_same_on_any_number_of_ranks(world: World) -> None:
    """The batches are such that most worlds cannot split them evenly."""
    for size in (2, 3):
        compare(world, size, batches(12, 10, 7))


def test_ranks_without_rows_take_part(world: World) -> None:
    """There is one row on three ranks, and no loss is NaN."""
    compare(world, 3, batches(8, 1, 2))


def test_targets_count_and_not_rows(world: World) -> None:
    """Some targets are ignored: most of rank 0's, all of rank 2's."""
    compare(world, 3, batches(9, 9, 9, ignored=(0, 2, 6, 7, 8)))


def test_the_norm_of_the_whole_gradient_is_clipped(world: World) -> None:
    """The gradient is clipped to a norm that the steps exceed."""
    compare(world, 3, batches(10, 7, 10), 0.1)


def test_bytes_of_a_step(world: World) -> None:
    """A step sends each gradient once, and a few numbers: 67 float64, and at most 4 more."""
    results = compare(world, 2, batches(6))
    for rank, calls in enumerate(results.calls):
        sent = sum(call.bytes for call in calls)
        assert 67 * 8 < sent <= 71 * 8, (
            f"your rank {rank} sends {sent} bytes in a step, expected 537 to 568: {calls}"
        )


def by_fresh_import(data: list[Batch]) -> bool:
    """Return whether a step works, with DistributedDataParallel forbidden."""
    with forbids(
        k28_counts, "torch.Tensor.DistributedDataParallel", "torch.distributed.nn"
    ) as fresh:
        model = net()
        return fresh.train_step(model, optimizer_of(model), *data[0], 1e9)[0] > 0


def test_nothing_ready_made_is_called(world: World) -> None:
    """DistributedDataParallel is not called: the gradients are summed here."""
    found = list(world(by_fresh_import, 2, batches(5), timeout=SOON))
    same(found, [True, True], "has each rank a loss?")
