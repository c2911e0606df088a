"""Look up rows that other ranks hold.

A table of 500 GB fits on no single machine, so each rank holds a range of its rows. The ids of a
rank's batch need rows from all ranks:

    rank 0   has rows 0 1 2   its ids 4 0 5 1   asks rank 0 for 0 1, rank 1 for 4 5
    rank 1   has rows 3 4 5   its ids 2 3 2     asks rank 0 for 2 2, rank 1 for 3

Counts cross first, then ids; rows cross back. In backward the gradients of the rows go where the
ids went.

1. `route`: group the ids by owner.
2. `Exchange`: a swap with a gradient. The tensor that ``dist.all_to_all_single`` fills has
   ``requires_grad=False``, and no warning says so.
3. `lookup`: rows and gradients equal those of one process, bit for bit.
4. `lookup_unique`: some ids occur often in a batch. Ask for each once.

About 15 lines. Send only through ``table.swap``: most tests put a swap between threads there.

Begin on paper: the rows of 0 1 4 5 come back to rank 0 in this order. Which of them belongs to
its first id?
Afterwards read ``all_to_all_single_autograd`` in
``torch/distributed/_functional_collectives.py``, in site-packages.
Real life differs: owners often send the sum of a bag's rows, and hot rows are cached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed as dist


def swap(rows: torch.Tensor, give: list[int], take: list[int]) -> torch.Tensor:
    """Exchange rows with all ranks, without gradients. Given.

    The first ``give[0]`` of the rows go to rank 0, the next ``give[1]`` to rank 1, and so on.
    Return what arrives: ``take[0]`` rows from rank 0, then ``take[1]`` from rank 1, and so on.
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
    owner keep their order. The counts, [ranks], say how many ids each rank is asked for. `ids` is
    int64, of [n]; n may be 0.
    """
    # TODO: step 1. Who owns id 5 if a rank has 3 rows? argsort takes stable=True.
    raise NotImplementedError("route")


class Exchange(torch.autograd.Function):
    """A swap through which gradients flow back: ``Exchange.apply(rows, swap, give, take)``."""

    @staticmethod
    def forward(
        ctx: Any, rows: torch.Tensor, swap: Any, give: list[int], take: list[int]
    ) -> torch.Tensor:
        """Return what arrives."""
        # TODO: step 2. Keep what backward needs in attributes of ctx.
        raise NotImplementedError("Exchange.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:  # type: ignore[override]
        """Return the gradient of each argument of forward, None for all but the rows."""
        # TODO: step 2. Which ranks sent these rows in forward, and how many did each
        # send?
        raise NotImplementedError("Exchange.backward")


def lookup(ids: torch.Tensor, table: Table) -> torch.Tensor:
    """Return the row of each id, [n, dim], in the order of `ids`, with three swaps.

    All ranks call it at the same time, each with its own ids, possibly none. In backward each shard
    gets the gradient from the ids of all ranks, by one more swap.
    """
    # TODO: step 3. Counts, ids, rows; then undo the order.
    raise NotImplementedError("lookup")


def lookup_unique(ids: torch.Tensor, table: Table) -> torch.Tensor:
    """Return what `lookup` returns, but ask for each id once, however often this rank has it."""
    # TODO: step 4. unique takes return_inverse=True.
    raise NotImplementedError("lookup_unique")
