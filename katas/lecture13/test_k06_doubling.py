"""Tests of k06_doubling: the sum, its bits, and with whom a rank exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k06_doubling import all_reduce
from katas.lecture13.messages import check_at_once
from katas.lecture13.messages import recorded
from plugins.kit import Sent


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def summed() -> list[int]:
    """Check a sum and the messages; return the bits of a sum that depends on the order."""
    rank, size = dist.get_rank(), dist.get_world_size()
    given = [torch.tensor([[2.0, 3.0]]).double().sqrt() * 3**each for each in range(size)]
    tensor = given[rank].clone()
    with recorded() as log:
        all_reduce(tensor)
    close(tensor, sum(given), f"the sum of {size} ranks, on rank {rank}")
    check_at_once(log)
    rough = torch.linspace(1, 2, 100) * 10.0 ** torch.arange(100).remainder(7) / (rank + 3)
    all_reduce(rough)
    return rough.view(torch.int32).tolist()


def test_two_ranks_have_the_sum(world: World) -> None:
    """Both ranks add what the other one sends, and wait for their own message first."""
    results = world(summed, 2, timeout=SOON)
    same(results[1], results[0], "the bits of a sum, on rank 1 and on rank 0")


def test_four_ranks_have_the_sum(world: World) -> None:
    """All four have the same bits."""
    results = world(summed, 4, timeout=SOON)
    same([each == results[0] for each in results], [True] * 4, "who has the bits of rank 0?")


def once() -> None:
    """Reduce five float32."""
    all_reduce(torch.ones(5))


def test_the_neighbour_comes_first(world: World) -> None:
    """The exchange at distance 2 comes second; a rank alone sends nothing."""
    results = world(once, 4, timeout=SOON)
    for rank, calls in enumerate(results.calls):
        for name in ("send", "recv"):
            partners = [call.peer for call in calls if call.name == name]
            same(partners, [rank ^ 1, rank ^ 2], f"with whom rank {rank} exchanges ({name})")
        same(results.sent(rank), Sent(2, 40), f"what rank {rank} sends: log2(4) times all of it")
        same({call.name for call in calls}, {"send", "recv"}, f"what rank {rank} calls")
    same(list(world(once, 1, timeout=SOON).calls), [()], "what a rank alone calls")
