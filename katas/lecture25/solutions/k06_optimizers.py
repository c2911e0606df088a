"""Ask the optimizers which rows they move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


def new_table(*, sparse: bool) -> nn.Embedding:
    """Return a table of 6 rows of 3 numbers, all different and none 0. Given."""
    weight = torch.arange(18, dtype=torch.float64).reshape(6, 3).sqrt() + 0.1
    return nn.Embedding.from_pretrained(weight, freeze=False, sparse=sparse)


def moved(
    table: nn.Embedding, optimizer: torch.optim.Optimizer, ids: Sequence[int]
) -> list[int] | None:
    """Take one step for these ids, and return the rows that it changes, in order.

    The loss is the sum of the squares of the looked-up rows. Clear the gradient first: an earlier
    batch may have left one. Return None if `optimizer.step` raises a RuntimeError, which is how
    an optimizer refuses a sparse gradient; let other errors through. `ids` is not empty.
    """
    before = table.weight.detach().clone()
    optimizer.zero_grad()
    table(torch.tensor(ids)).square().sum().backward()
    try:
        optimizer.step()
    except RuntimeError:
        return None
    return (table.weight != before).any(1).nonzero().flatten().tolist()
