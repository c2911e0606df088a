"""Search with several beams, and let the cache follow them.

Beam search keeps the few best prefixes, extends each by every token, and keeps the few best again.
A beam may have two children and another none, so the cache of keys and values has to move:

    beams     parents of the new ones    rows of the cache, before and after
    a b c d   1 1 0 2                    a b c d  ->  b b a c

Copied row by row, in place, it becomes b b b b: row 0 is overwritten before row 2 reads it.

1. `reorder_`: move the rows of the cache within its memory, which a compiled step uses.
2. `best`: the best continuations of all beams together.
3. `search`: the loop. A sequence that has ended goes on with `end`, at log-probability 0 (all
   other tokens at -inf). About 20 lines.

Begin on paper: all beams start out equal. What keeps them from finding the same sequence?
Afterwards see ``topk`` in ``torch/_torch_docs.py``, in site-packages. Real life differs: scores are
divided by the length, and each sample of a batch has its own beams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    # Maps last tokens [beams] to log-probabilities [beams, n] of the next; appends to the cache.
    Step = Callable[[torch.Tensor], torch.Tensor]


INF = float("inf")


def reorder_(cache: list[torch.Tensor], parents: torch.Tensor) -> None:
    """Set row i of each tensor [beams, ...] to the old row ``parents[i]``, in the same memory."""
    # TODO
    raise NotImplementedError("reorder_")


def best(
    scores: torch.Tensor, log_p: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return scores, parents and tokens of the best continuations, best first, [beams] each.

    A continuation has the score of its beam, [beams], plus its log-probability, [beams, n].
    """
    # TODO
    raise NotImplementedError("best")


def search(
    step: Step, cache: list[torch.Tensor], start: int, *, beams: int, length: int, end: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best sequences, int64 [beams, length] without `start`, and their scores [beams].

    `step` is called `length` times, first for `start` in every row. Before each further call,
    reorder the cache to match the beams. `start` may equal `end`; it does not end a sequence. While
    there are fewer sequences than beams, the other beams score -inf.
    """
    # TODO
    raise NotImplementedError("search")
