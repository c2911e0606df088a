"""Tokens to their experts and back, by three all-to-alls."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import distributed as dist


def exchange_tokens(
    tokens: torch.Tensor,
    experts: torch.Tensor,
    expert: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return each token's result from ``expert``, run on the rank that ``experts[row]`` names.

    `tokens` are (rows, features), a different number of rows on each rank, perhaps none. Call
    `expert`, this rank's own, once, with all tokens that arrive, those of rank 0 first, in their
    order; it keeps their shape. The results are in the order of `tokens`. No autograd.
    """
    order = experts.argsort(stable=True)
    outgoing = experts.bincount(minlength=dist.get_world_size())
    incoming = torch.empty_like(outgoing)
    dist.all_to_all_single(incoming, outgoing)
    theirs, ours = incoming.tolist(), outgoing.tolist()
    received = tokens.new_empty(sum(theirs), tokens.size(1))
    dist.all_to_all_single(received, tokens[order], theirs, ours)
    returned = torch.empty_like(tokens)
    dist.all_to_all_single(returned, expert(received).contiguous(), ours, theirs)
    results = torch.empty_like(tokens)
    results[order] = returned
    return results
