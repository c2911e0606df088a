"""Keep some tokens, and sample from those.

Many examples say "temperature 0.7, top-k 50, top-p 0.9", and it is easy to get a corner wrong:
equal logits, or no token left. A filter returns the logits with -inf for dropped tokens:

    probabilities         0.4   0.3   0.2   0.1
    top_k(2)              0.4   0.3    .     .
    top_p(0.8)            0.4   0.3   0.2    .      0.4 + 0.3 do not reach 0.8
    top_p(0.3)            0.4    .     .     .

1. `top_k`: keep the k largest, and all tokens that equal the last of these.
2. `top_p`: keep the fewest most probable tokens whose probabilities add up to at least p; the rest
   get -inf.
3. `filtered`: temperature, top-k and top-p, in this order; top-p sees only what top-k kept.

`generate` is given. Do not change the inputs. About 15 lines.

Begin on paper: does `top_p` decide about a token by the sum with its own probability or without?
Afterwards see ``sort`` in ``torch/_torch_docs.py``, in site-packages. Real life differs: libraries
have a dozen more filters, and each is a function of logits.
"""

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
    # TODO
    raise NotImplementedError("top_k")


def top_p(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Return logits [..., n] with -inf for all but the fewest tokens that reach p, 0 < p < 1.

    Among equal tokens, the one with the smaller index comes first.
    """
    # TODO: sort, add up, and put the answer back in token order.
    raise NotImplementedError("top_p")


def filtered(
    logits: torch.Tensor,
    temperature: float = 1.0,
    k: int | None = None,
    p: float | None = None,
) -> torch.Tensor:
    """Divide by the temperature, apply top-k, then top-p; None skips a filter."""
    # TODO
    raise NotImplementedError("filtered")


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
