"""Micro-batches that equal the large batch.

A batch does not fit in memory, so you split it, call ``(loss / 2).backward()`` for each half, and
step. If both halves have the same number of targets, that equals the large batch. With texts it
does not:

    micro-batch    tokens    mean loss
    A                   2          4.0        mean of the means   (4 + 1) / 2           = 2.5
    B                  10          1.0        of the large batch  (2 * 4 + 10 * 1) / 12 = 1.5

Each token of A weighs five times as much as one of B. Widely used trainers did that until the
autumn of 2024, and data parallelism does it again: it averages gradients over ranks.

1. `share`: a micro-batch's contribution to the large batch's loss.
2. `accumulate`: the large batch's gradients, one micro-batch at a time.

Begin on paper: by which number must you divide the sum of A's losses?

Afterwards read ``cross_entropy`` in ``torch/nn/functional.py``, in site-packages: what does
``ignore_index`` say about the mean? (`reduction` says "the number of elements in the output", which
is not the same.)
"""

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
    # TODO: a sum, divided by what?
    raise NotImplementedError("share")


def accumulate(
    model: Callable[[torch.Tensor], torch.Tensor],
    batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> torch.Tensor:
    """Add the gradients of the large batch's mean loss to each ``.grad``; return that loss.

    A micro-batch is a pair of inputs and targets; ``model(inputs)`` returns its logits. Call the
    model once for each, and free its graph before the next call. The returned loss is 0-dim and has
    no graph.
    """
    # TODO: first count the tokens of all micro-batches.
    raise NotImplementedError("accumulate")
