"""Search with several beams, and let the cache follow them."""

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
    for tensor in cache:
        tensor.copy_(tensor[parents])


def best(
    scores: torch.Tensor, log_p: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return scores, parents and tokens of the best continuations, best first, [beams] each.

    A continuation has the score of its beam, [beams], plus its log-probability, [beams, n].
    """
    total = (scores[:, None] + log_p).flatten()
    scores, place = total.topk(len(scores))
    return scores, place // log_p.shape[1], place % log_p.shape[1]


def search(
    step: Step, cache: list[torch.Tensor], start: int, *, beams: int, length: int, end: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best sequences, int64 [beams, length] without `start`, and their scores [beams].

    `step` is called `length` times, first for `start` in every row. Before each further call,
    reorder the cache to match the beams. `start` may equal `end`; it does not end a sequence. While
    there are fewer sequences than beams, the other beams score -inf.
    """
    tokens = torch.full((beams,), start)
    scores = torch.full((beams,), -INF)
    scores[0] = 0
    rows = torch.empty(beams, 0, dtype=torch.int64)
    for _ in range(length):
        log_p = step(tokens).clone()
        ended = (rows == end).any(1)
        log_p[ended] = -INF
        log_p[ended, end] = 0
        scores, parents, tokens = best(scores, log_p)
        reorder_(cache, parents)
        rows = torch.cat([rows[parents], tokens[:, None]], 1)
    return rows, scores
