"""Attention that never writes down its scores."""

from __future__ import annotations

from functools import reduce
from typing import Any

import torch


Pair = tuple[torch.Tensor, torch.Tensor]


def scores(q: torch.Tensor, k: torch.Tensor, start: int, *, causal: bool) -> torch.Tensor:
    """Return the scaled scores of q [..., L, E] for a block of keys that begins at `start`. Given.

    With `causal`, scores of keys after the query's position are -inf.
    """
    found: torch.Tensor = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        keys, queries = torch.arange(start, start + k.shape[-2]), torch.arange(q.shape[-2])
        found = found.masked_fill(keys > queries[:, None], -torch.inf)
    return found


def part(s: torch.Tensor, v: torch.Tensor) -> Pair:
    """Return attention with scores s [..., L, B] to v [..., B, Ev], and its lse [..., L].

    A row whose scores are all -inf reads 0, and its lse is -inf.
    """
    lse = s.logsumexp(-1)
    safe = lse.masked_fill(lse == -torch.inf, 0.0)
    return (s - safe[..., None]).exp() @ v, lse


def join(a: Pair, b: Pair) -> Pair:
    """Return out and lse over the keys of both parts.

    A part whose lse is -inf has no weight; both may be -inf.
    """
    (out, lse), (other, lse_of_other) = a, b
    total = torch.logaddexp(lse, lse_of_other)
    safe = total.masked_fill(total == -torch.inf, 0.0)
    share, rest = ((x - safe).exp()[..., None] for x in (lse, lse_of_other))
    return share * out + rest * other, total


def online(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int, *, causal: bool) -> Pair:
    """Return attention of q to k and v, and its lse, in blocks of `size` keys.

    The last block may be shorter. Create no tensor of shape [..., L, S].
    """
    blocks = zip(k.split(size, -2), v.split(size, -2), strict=True)
    pairs = (
        part(scores(q, keys, number * size, causal=causal), values)
        for number, (keys, values) in enumerate(blocks)
    )
    return reduce(join, pairs)


class Online(torch.autograd.Function):
    """`online` with a backward of its own; lse has no gradient."""

    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, how: tuple[int, bool]
    ) -> Pair:
        """Return out and lse, and save what backward needs; `how` is (size, causal)."""
        size, causal = how
        out, lse = online(q, k, v, size, causal=causal)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.size, ctx.causal = size, causal
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _lse: Any) -> tuple[Any, ...]:
        """Return the gradients of q, k and v, and None for `how`."""
        q, k, v, out, lse = ctx.saved_tensors
        own, scale = (grad * out).sum(-1, keepdim=True), q.shape[-1] ** -0.5
        of_q, of_k, of_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for start in range(0, k.shape[-2], ctx.size):
            block = slice(start, start + ctx.size)
            keys, values = k[..., block, :], v[..., block, :]
            weights = (scores(q, keys, start, causal=ctx.causal) - lse[..., None]).exp()
            slopes = weights * (grad @ values.mT - own) * scale
            of_v[..., block, :] = weights.mT @ grad
            of_k[..., block, :] = slopes.mT @ q
            of_q += slopes @ keys
        return of_q, of_k, of_v, None
