"""Attend to a sequence that no rank holds: weights by softmax, two messages, an even-odd order."""

from __future__ import annotations

import torch
from torch import distributed as dist


Partial = tuple[torch.Tensor, torch.Tensor]


def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> Partial:
    """Return the attention of queries to these keys alone, and its lse."""
    hidden = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(mask.logical_not(), -torch.inf)
    scores = torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5 + hidden
    return scores.softmax(-1) @ v, scores.logsumexp(-1, keepdim=True)


def merge(a: Partial, b: Partial) -> Partial:
    """Return the result for the keys of both: the share of b is a sigmoid."""
    share = torch.sigmoid(b[1] - a[1])
    top = torch.maximum(a[1], b[1])
    lse = top + ((a[1] - top).exp() + (b[1] - top).exp()).log()
    return a[0] * torch.sigmoid(a[1] - b[1]) + b[0] * share, lse


def ring(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return this rank's share of the attention to the keys of all ranks."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    places = torch.arange(q.size(-2))
    total: Partial | None = None
    for step in range(ranks):
        source = (rank - step) % ranks
        if step:
            came = torch.empty_like(k), torch.empty_like(v)
            for mine, new in zip((k, v), came, strict=True):
                # Rank 0 receives first, so that ranks do not wait in a circle.
                if rank:
                    dist.send(mine, after)
                    dist.recv(new, before)
                else:
                    dist.recv(new, before)
                    dist.send(mine, after)
            k, v = came
        if causal and source > rank:
            continue
        own = causal and source == rank
        mask = places[:, None] >= places if own else places[:, None] >= -1
        part = block(q, k, v, mask.expand(len(places), len(places)))
        total = part if total is None else merge(total, part)
    assert total is not None
    return total[0]
