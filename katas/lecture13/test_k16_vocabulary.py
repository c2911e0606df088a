"""Tests of k16_vocabulary: the loss and gradients of all classes, and what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist
from torch.nn import functional as F

from katas.lecture13 import k16_vocabulary
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k16_vocabulary import cross_entropy
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def entropy(logits: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the loss, this rank's part of its gradient, and the logits afterwards."""
    size, rank = dist.get_world_size(), dist.get_rank()
    part = logits.chunk(size, 1)[rank].clone().requires_grad_()
    loss = cross_entropy(part, target, rank * -(-logits.size(1) // size))
    # Half of it, so that a gradient of 1 does not hide what is done with the incoming one.
    (loss / 2).backward()
    return loss.detach(), part.grad, part.detach()


def check(world: World, size: int, whole: torch.Tensor, target: torch.Tensor) -> None:
    """Compare the loss, and the gradients of all parts, with those of all classes in one place."""
    __tracebackhide__ = True
    whole = whole.clone().requires_grad_()
    expected = F.cross_entropy(whole, target)
    (expected / 2).backward()
    results = world(entropy, size, whole.detach(), target, timeout=SOON)
    exact = {"rtol": 1e-5, "atol": 1e-6} if whole.dtype == torch.float32 else {}
    for rank, (loss, _, after) in enumerate(results):
        close(loss, expected.detach(), f"the loss on rank {rank} of {size}", **exact)
        close(after, whole.detach().chunk(size, 1)[rank], f"the logits of rank {rank}, afterwards")
    found = torch.cat([grad for _, grad, _ in results], 1)
    close(found, whole.grad, "the gradients of the logits, side by side", **exact)


def drawn(rows: int, classes: int) -> torch.Tensor:
    """Return logits."""
    return (torch.arange(rows * classes).double() * 1.7).sin().view(rows, classes) * 3


def test_it_is_that_of_all_classes(world: World) -> None:
    """Compare one rank, and three ranks, of which the last has fewer classes."""
    target = torch.tensor([0, 2, 3, 5, 6, 7])
    check(world, 1, drawn(6, 8), target)
    check(world, 3, drawn(6, 8), target)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_masked_logits_are_minus_infinity(world: World, dtype: torch.dtype) -> None:
    """Even all of a rank's logits in a row may be -inf; multiplied by 0 they would be NaN."""
    whole = drawn(4, 6).to(dtype)
    # A class that nobody may choose; all of rank 0's classes; all of rank 1's but the target.
    for row, masked in enumerate(([5], [0, 1, 2], [3, 5], [1])):
        whole[row, masked] = -torch.inf
    check(world, 2, whole, torch.tensor([0, 4, 4, 2]))


def test_large_logits_overflow_nothing(world: World) -> None:
    """Each rank subtracts the maximum over all ranks: the ranks' maxima are far apart."""
    whole = torch.tensor([[1000.0, 3.0, -1000.0, 990.0], [-5000.0, -5001.0, -5000.0, -5003.0]])
    check(world, 2, whole.double(), torch.tensor([3, 0]))


def test_three_numbers_of_each_row_travel(world: World) -> None:
    """A rank sends three all-reduces of 6 float64 at most, not the logits; nothing in backward."""
    results = world(entropy, 2, drawn(6, 8), torch.arange(6), timeout=SOON)
    for rank, calls in enumerate(results.calls):
        same({call.name for call in calls}, {"all_reduce"}, f"what rank {rank} calls")
        sent = [call.bytes for call in calls]
        assert len(sent) <= 3, f"your rank {rank} calls {len(sent)} all-reduces, expected 3"
        assert sum(sent) <= 144, f"your rank {rank} sends {sum(sent)} bytes, expected 3 * 6 * 8"


def by_fresh_import() -> float:
    """Return the loss, with DTensor's own forbidden."""
    names = ["tensor", "nn", "_functional_collectives"]
    with forbids(k16_vocabulary, *(f"torch.distributed.{name}" for name in names)) as fresh:
        part = torch.zeros(3, 2, requires_grad=True)
        loss = fresh.cross_entropy(part, torch.arange(3), 2 * dist.get_rank())
        loss.backward()
    return loss.item()


def test_nothing_ready_made_is_called(world: World) -> None:
    """loss_parallel is not called: it is built here."""
    found = [round(loss, 6) for loss in world(by_fresh_import, 2, timeout=SOON)]
    same(found, [1.386294] * 2, "the loss of four equal logits, log(4)")
