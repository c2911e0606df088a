"""Micro-batches that equal the large batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# The target at a padding position: not a token, and ``cross_entropy`` ignores it.
PADDING = -100


def share(logits: torch.Tensor, targets: torch.Tensor, total: int, ranks: int = 1) -> torch.Tensor:
    """Return what one of several micro-batches adds to the mean loss over `total` tokens.

    `logits` has size (texts, positions, classes) and `targets` (texts, positions). With several
    ranks, return `ranks` times that: the gradients are averaged afterwards, and the average must be
    the gradient of the large batch. `total` counts the tokens of all ranks.
    """
    losses = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return losses * ranks / total


def accumulate(
    model: Callable[[torch.Tensor], torch.Tensor],
    batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> torch.Tensor:
    """Add the gradients of the large batch's mean loss to each ``.grad``; return that loss.

    A micro-batch is a pair of inputs and targets; ``model(inputs)`` returns its logits. Call the
    model once for each, and free its graph before the next call. The returned loss is 0-dim and has
    no graph.
    """
    total = sum(int((targets != PADDING).sum()) for _, targets in batches)
    losses = []
    for inputs, targets in batches:
        loss = share(model(inputs), targets, total)
        loss.backward()
        losses.append(loss.detach())
    return torch.stack(losses).sum()
