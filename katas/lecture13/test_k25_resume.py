"""Tests of k25_resume: one process's losses, on any number of ranks and after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k25_resume import Training


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.kit import World


# The optimizers import it when they are first used.
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import("torch._dynamo")]

# 12 rows in batches of 4: an epoch has 3 steps.
ROWS, BATCH = 12, 4


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows and their targets."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(ROWS, 3, generator=generator)
    return x, torch.randn(ROWS, 2, generator=generator)


def undisturbed(steps: int) -> list[float]:
    """Return the losses of one process that is never restarted."""
    x, y = data()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    while len(losses) < steps:
        for rows in torch.randperm(ROWS).split(BATCH)[: steps - len(losses)]:
            optimizer.zero_grad()
            loss = (model(x[rows]) - y[rows]).square().sum() / BATCH
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def numbers() -> list[list[int]]:
    """Return this rank's rows of the steps of two epochs."""
    training = Training(*data(), BATCH)
    found = []
    for _ in range(6):
        found.append(training.rows().tolist())
        training.losses.append(0.0)
    return found


def test_each_row_is_on_one_rank(world: World) -> None:
    """The global batch is that of one process: its rows are dealt out to three ranks."""
    torch.manual_seed(0)
    Training(*data(), BATCH)
    expected = [rows for _ in range(2) for rows in torch.randperm(ROWS).split(BATCH)]
    for rank, found in enumerate(world(numbers, 3, timeout=SOON)):
        mine = [rows[rank::3].tolist() for rows in expected]
        same(found, mine, f"the rows of rank {rank} of 3, in six steps of two epochs")


def trained(steps: int) -> list[float]:
    """Return the losses of this many steps."""
    training = Training(*data(), BATCH)
    for _ in range(steps):
        training.step()
    return training.losses


def check(world: World, size: int, steps: int, what: str, *args: Any, run: Any = trained) -> None:
    """Compare the losses of each rank with those of one process."""
    __tracebackhide__ = True
    expected = torch.tensor(undisturbed(steps))
    for rank, losses in enumerate(world(run, size, *args, steps, timeout=2 * SOON)):
        found = torch.tensor(losses)
        close(found, expected, f"losses on rank {rank} of {size}, {what}", rtol=1e-4, atol=1e-6)


def test_training_depends_on_no_number_of_ranks(world: World) -> None:
    """There are one, three or five ranks; with five, one takes part without rows."""
    for size in (1, 3, 5):
        check(world, size, 5, "five steps")


def saved(path: Path, steps: int) -> list[float]:
    """Train, and save the state; what comes after that must not matter."""
    training = Training(*data(), BATCH)
    for _ in range(steps):
        training.step()
    torch.save(training.state_dict(), path / f"{torch.distributed.get_rank()}")
    return training.losses


def resumed(path: Path, steps: int) -> list[float]:
    """Continue from the state of rank 0, in a process that has done other things."""
    torch.rand(7)
    training = Training(*data(), BATCH)
    training.load_state_dict(torch.load(path / "0"))
    while len(training.losses) < steps:
        training.step()
    return training.losses


@pytest.mark.parametrize("last", [2, 3])
def test_training_goes_on_where_it_was(world: World, tmp_path: Path, last: int) -> None:
    """Training continues within an epoch and at its end, with a different number of ranks."""
    check(world, 3, last, f"{last} steps", tmp_path, run=saved)
    check(world, 2, 8, f"eight steps, with a restart after {last}", tmp_path, run=resumed)


def test_each_gradient_is_summed_once(world: World) -> None:
    """One step sums four gradients of 26 float32, and the loss."""
    results = world(trained, 2, 1, timeout=SOON)
    for rank, calls in enumerate(results.calls):
        same({call.name for call in calls}, {"all_reduce"}, f"what rank {rank} calls")
        same(sum(call.bytes for call in calls), 27 * 4, f"bytes that rank {rank} contributes")
