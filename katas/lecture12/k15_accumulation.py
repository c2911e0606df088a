"""Micro-batches that equal the large batch.

A batch does not fit, so you split it, call ``(loss / 2).backward()`` for each half, and step. With
as many targets in each half that equals the large batch. With texts it does not:

    micro-batch    tokens    mean loss
    A                   2          4.0        mean of the means   (4 + 1) / 2           = 2.5
    B                  10          1.0        of the large batch  (2 * 4 + 10 * 1) / 12 = 1.5

Each token of A weighs five times as much as one of B. Trainers in wide use did that until the
autumn of 2024, and data parallel does it again: it averages the gradients of ranks.

1. `share`: a micro-batch's part of the large batch's loss.
2. `accumulate`: its gradients, one micro-batch at a time.

Begin on paper: by which number must the sum of A's losses be divided?

Afterwards read ``cross_entropy`` in ``torch/nn/functional.py``, in site-packages: what does
``ignore_index`` say of the mean? (Not "the number of elements in the output", as `reduction` does.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it
from torch.nn.functional import cross_entropy  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# The target of a position that is padding: no token, and ``cross_entropy`` ignores it.
PADDING = -100


def share(logits: torch.Tensor, targets: torch.Tensor, total: int, ranks: int = 1) -> torch.Tensor:
    """Return what one of many micro-batches adds to the mean loss over `total` tokens.

    `logits` has size (texts, positions, classes) and `targets` (texts, positions). With several
    ranks it is `ranks` times that, because the gradients are averaged afterwards: that average
    must be the gradient of the large batch. `total` counts the tokens of all ranks.
    """
    # TODO: a sum, and what it is divided by.
    raise NotImplementedError("share")


def accumulate(
    model: Callable[[torch.Tensor], torch.Tensor],
    batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> torch.Tensor:
    """Add the gradients of the large batch's mean loss to each ``.grad``; return that loss.

    A micro-batch is inputs and targets, and ``model(inputs)`` are its logits, computed once. The
    graph of one is freed before the model sees the next. What is returned is 0-dim, without one.
    """
    # TODO: first count the tokens of all micro-batches.
    raise NotImplementedError("accumulate")
