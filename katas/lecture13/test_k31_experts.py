"""Tests of k31_experts: results in their places, what each expert sees, and what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k31_experts import exchange_tokens


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")


def tokens_of(rank: int, rows: int) -> torch.Tensor:
    """Return a rank's tokens: numbers that show where they come from."""
    return (torch.arange(rows * 2.0).double().view(rows, 2) + 1).sqrt() + 100 * rank


def routed(experts: list[list[int]]) -> tuple[torch.Tensor, list[torch.Tensor], bool]:
    """Return the results of this rank, what its expert has seen, and whether inputs are kept."""
    rank = dist.get_rank()
    mine = torch.tensor(experts[rank], dtype=torch.int64)
    tokens = tokens_of(rank, len(mine))
    seen: list[torch.Tensor] = []

    def expert(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.clone())
        # Not contiguous, and a different function on each rank.
        return (x * (rank + 2)).t().contiguous().t()

    found = exchange_tokens(tokens, mine, expert)
    kept = torch.equal(tokens, tokens_of(rank, len(mine))) and mine.tolist() == experts[rank]
    return found, seen, kept


def check(world: World, experts: list[list[int]]) -> None:
    """Compare results and what the experts see with those of one process."""
    __tracebackhide__ = True
    whole = [tokens_of(rank, len(each)) for rank, each in enumerate(experts)]
    for rank, (found, seen, kept) in enumerate(world(routed, len(experts), experts, timeout=SOON)):
        mine = torch.tensor(experts[rank], dtype=torch.float64)
        close(found, whole[rank] * (mine + 2)[:, None], f"results of rank {rank}; {experts}")
        came = [
            x[[row for row, to in enumerate(each) if to == rank]]
            for x, each in zip(whole, experts, strict=True)
        ]
        same(len(seen), 1, f"how often the expert of rank {rank} is called")
        close(seen[0], torch.cat(came), f"what the expert of rank {rank} sees; {experts}")
        assert kept, f"your code writes to the tokens or experts of rank {rank}"


def test_the_example_of_the_brief(world: World) -> None:
    """Seven tokens on two ranks."""
    check(world, [[0, 1, 1, 1], [0, 0, 1]])


def test_results_are_in_the_order_of_the_tokens(world: World) -> None:
    """Rows that go to the same expert are not adjacent at first."""
    check(world, [[2, 0, 1, 0, 2], [1, 0], [0, 2, 1, 1]])


def test_a_rank_may_send_or_get_nothing(world: World) -> None:
    """No token on rank 1, and none for rank 2."""
    check(world, [[0, 1, 0], [], [1, 1]])


def test_tokens_travel_once_each_way(world: World) -> None:
    """A rank sends two counts of 8 bytes, then tokens of 16, then results, and nothing else."""
    results = world(routed, 2, [[0, 1, 1, 1], [0, 0, 1]], timeout=SOON)
    for rank, rows, came in ((0, 4, 3), (1, 3, 4)):
        calls = results.calls[rank]
        same({call.name for call in calls}, {"all_to_all_single"}, f"what rank {rank} calls")
        expected = [16, rows * 16, came * 16]
        same([call.bytes for call in calls], expected, f"bytes that rank {rank} hands in")
