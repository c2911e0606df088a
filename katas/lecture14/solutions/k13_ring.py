"""Attend to a sequence that no single rank holds."""

from __future__ import annotations

import torch
from torch import distributed as dist


# The result, and the log of the sum of exponentials: (..., queries, 1).
Partial = tuple[torch.Tensor, torch.Tensor]


def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> Partial:
    """Return the attention of queries to these keys alone, and its lse."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    lse = scores.logsumexp(-1, keepdim=True)
    return (scores - lse).exp() @ v, lse


def merge(a: Partial, b: Partial) -> Partial:
    """Return the result for the keys of both, and its lse; finite if both inputs are."""
    lse = torch.logaddexp(a[1], b[1])
    return a[0] * (a[1] - lse).exp() + b[0] * (b[1] - lse).exp(), lse


def ring(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return this rank's share of the attention to the keys of all ranks."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    every = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool)
    total = block(q, k, v, every.tril() if causal else every)
    kept = torch.stack([k, v])
    for step in range(1, ranks):
        came = torch.empty_like(kept)
        sent = dist.isend(kept, (rank + 1) % ranks)
        dist.recv(came, (rank - 1) % ranks)
        sent.wait()  # type: ignore[union-attr, unused-ignore]
        kept = came
        if not causal or step <= rank:
            total = merge(total, block(q, kept[0], kept[1], every))
    return total[0]
