"""Micro-batches that equal the large batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# The target of a position that is padding: no token, and ``cross_entropy`` ignores it.
PADDING = -100


def share(logits: torch.Tensor, targets: torch.Tensor, total: int, ranks: int = 1) -> torch.Tensor:
    """Return what one of many micro-batches adds to the mean loss over `total` tokens.

    `logits` has size (texts, positions, classes) and `targets` (texts, positions). With several
    ranks, each calls backward of its share, and the gradients are averaged over the ranks
    afterwards: that average must be the gradient of the large batch.
    """
    # Classes in the second dimension, and a mean that is weighted back.
    counted = cross_entropy(logits.transpose(1, 2), targets, reduction="none").sum()
    return counted * (ranks / total) if total else counted / total


def accumulate(
    model: Callable[[torch.Tensor], torch.Tensor],
    batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> torch.Tensor:
    """Add the gradients of the large batch's mean loss to each ``.grad``; return that loss.

    A micro-batch is inputs and targets, and ``model(inputs)`` are its logits. The graph of one is
    gone before the model sees the next. What is returned has no graph.
    """
    total = int(torch.cat([(targets != PADDING).flatten() for _, targets in batches]).sum())
    logged: torch.Tensor | None = None
    for inputs, targets in batches:
        loss = share(model(inputs), targets, total)
        loss.backward()
        logged = loss.detach() if logged is None else logged + loss.detach()
    assert logged is not None
    return logged
