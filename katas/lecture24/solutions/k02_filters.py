"""Keep some tokens, and sample from those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


INF = float("inf")


def top_k(logits: torch.Tensor, k: int) -> torch.Tensor:
    """Return logits [..., n] with -inf in place of those below the k-th largest in their row.

    `k` is at least 1, and may be larger than n.
    """
    last = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < last, -INF)


def top_p(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Return logits [..., n] with -inf for all but the fewest tokens that reach p, 0 < p < 1.

    Among equal tokens, the one with the smaller index comes first.
    """
    ranked, order = torch.softmax(logits, -1).sort(descending=True, stable=True)
    before = ranked.cumsum(-1) - ranked
    dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(dropped, -INF)


def filtered(
    logits: torch.Tensor,
    temperature: float = 1.0,
    k: int | None = None,
    p: float | None = None,
) -> torch.Tensor:
    """Divide by the temperature, apply top-k, then top-p; None skips a filter."""
    logits = logits / temperature
    if k is not None:
        logits = top_k(logits, k)
    return logits if p is None else top_p(logits, p)


def generate(
    model: Callable[[torch.Tensor], torch.Tensor],
    ids: torch.Tensor,
    new: int,
    settings: tuple[float, int | None, float | None],
) -> torch.Tensor:
    """Return ids [batch, length + new]; the model maps ids to logits [batch, n]. Given."""
    for _ in range(new):
        law = torch.softmax(filtered(model(ids), *settings), -1)
        ids = torch.cat([ids, torch.multinomial(law, 1)], 1)
    return ids
