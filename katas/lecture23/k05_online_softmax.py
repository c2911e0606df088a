"""Attention that never writes down its scores.

For 32,000 tokens the matrix of scores has a billion elements for each head, and backward needs it
again. But a softmax can be computed block by block, if each block of keys also reports its
log-sum-exp: how large its weights were before normalising.

    keys     | 0 1 2 3 | 4 5 6 7 | 8 9         size = 4
    each     out, lse    out, lse  out, lse    lse = log of the sum of exp(scores)
    joined   out, lse -> out, lse -> out, lse

1. `part`: attention to one block of keys, with its log-sum-exp.
2. `join`: combine two pairs into one, wherever the keys were split.
3. `online`: over all blocks.
4. `Online`: backward computes the weights again, block by block: exp(scores - lse). It saves only
   q, k, v, out and lse.

Each step turns a group of tests green; about 30 lines in all. `scores` is given.

The gradients, where P are the weights, S the scaled scores and D = (grad * out).sum(-1):

    of v     P' grad
    of S     P * (grad v' - D)        call it G
    of q     G k * scale
    of k     G' q * scale

Begin on paper: two blocks with lse 0 and log 3. What is their common lse, and what weight does each
get? Afterwards see ``_scaled_dot_product_flash_attention_for_cpu`` in
``aten/src/ATen/native/native_functions.yaml``, in PyTorch's repository. Real life differs: a kernel
keeps a block in registers or shared memory, and splits the queries into blocks, too.
"""

from __future__ import annotations

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
    # TODO: step 1.
    raise NotImplementedError("part")


def join(a: Pair, b: Pair) -> Pair:
    """Return out and lse over the keys of both parts.

    A part whose lse is -inf has no weight; both may be -inf.
    """
    # TODO: step 2.
    raise NotImplementedError("join")


def online(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int, *, causal: bool) -> Pair:
    """Return attention of q to k and v, and its lse, in blocks of `size` keys.

    The last block may be shorter. Create no tensor of shape [..., L, S].
    """
    # TODO: step 3.
    raise NotImplementedError("online")


class Online(torch.autograd.Function):
    """`online` with a backward of its own; lse has no gradient."""

    @staticmethod
    def forward(
        ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, how: tuple[int, bool]
    ) -> Pair:
        """Return out and lse, and save what backward needs; `how` is (size, causal)."""
        # TODO: step 4.
        raise NotImplementedError("forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _lse: Any) -> tuple[Any, ...]:
        """Return the gradients of q, k and v, and None for `how`."""
        # TODO: step 4.
        raise NotImplementedError("backward")
