"""Remainders instead of differences, and rows that are put where they belong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed as dist


def swap(rows: torch.Tensor, give: list[int], take: list[int]) -> torch.Tensor:
    """Exchange rows with all ranks, without gradients. Given.

    The first ``give[0]`` of the rows go to rank 0, the next ``give[1]`` to rank 1, and so on.
    What comes is returned: ``take[0]`` rows of rank 0, then ``take[1]`` of rank 1, and so on.
    """
    taken = rows.new_empty(sum(take), *rows.shape[1:])
    dist.all_to_all_single(taken, rows.contiguous(), take, give)
    return taken


@dataclass
class Table:
    """A rank's part of a table. Given."""

    shard: torch.Tensor
    """The rows from ``rank * per_rank`` on, of [rows, dim]; they may require a gradient."""
    rank: int
    """Which rank this is."""
    per_rank: int
    """How many rows a rank has. The last ranks may have fewer, or none."""
    ranks: int
    """How many ranks there are."""
    swap: Callable[[torch.Tensor, list[int], list[int]], torch.Tensor] = swap
    """What exchanges rows."""


def route(ids: torch.Tensor, per_rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an order and counts, both int64.

    ``ids[order]`` has the ids of rank 0 first, then those of rank 1, ...; ids with the same
    owner keep their order. The counts, [ranks], say how many each rank is asked for. `ids` is
    int64, of [n]; n may be 0.
    """
    groups = [(ids.div(per_rank, rounding_mode="floor") == rank).nonzero() for rank in range(ranks)]
    return torch.cat(groups).flatten(), torch.tensor([len(group) for group in groups])


class Exchange(torch.autograd.Function):
    """A swap through which gradients flow back: ``Exchange.apply(rows, swap, give, take)``."""

    @staticmethod
    def forward(
        ctx: Any, rows: torch.Tensor, swap: Any, give: list[int], take: list[int]
    ) -> torch.Tensor:
        """Return what comes."""
        ctx.swap, ctx.give, ctx.take = swap, give, take
        return swap(rows, give, take)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:  # type: ignore[override]
        """Return the gradient of each argument of forward, None for all but the rows."""
        return ctx.swap(grad, ctx.take, ctx.give), None, None, None


def lookup(ids: torch.Tensor, table: Table) -> torch.Tensor:
    """Return the row of each id, [n, dim], in the order of `ids`, with three swaps.

    All ranks call it at the same time, each with its own ids, possibly none. In backward each shard
    gets the gradient from the ids of all ranks, by one swap more.
    """
    order, counts = route(ids, table.per_rank, table.ranks)
    each = [1] * table.ranks
    ours, theirs = counts.tolist(), table.swap(counts, each, each).tolist()
    wanted = table.swap(ids[order], ours, theirs)
    rows = table.shard[wanted % table.per_rank]
    back = Exchange.apply(rows, table.swap, theirs, ours)
    return torch.empty_like(back).index_copy(0, order, back)


def lookup_unique(ids: torch.Tensor, table: Table) -> torch.Tensor:
    """Return what `lookup` returns, and ask for each id once, however often this rank has it."""
    unique, places = ids.unique(return_inverse=True)
    return lookup(unique, table)[places]
