"""Attend to a sequence that no single rank holds.

The keys and values of a million tokens do not fit on one GPU. So each rank keeps its share of the
queries, and keys and values travel round a ring. But softmax divides by a sum over all keys, and a
rank sees one share at a time. What must it remember of a share to correct its result later?

    softmax([a b | c d]) v  =  (the result for [a b]) * ea + (the result for [c d]) * ec
    lse = log(exp(a) + exp(b))   for each share, and ea = exp(lse of [a b] - lse of [a b c d])

1. `block`: attention to one share, and its log-sum-exp (lse).
2. `merge`: combine the results of two shares.
3. `ring`: start with the rank's own keys; then each rank passes on what it has, n - 1 times. With
   gloo, ``dist.send`` returns when the other side receives: if all ranks send first, they deadlock.

Begin on paper: exp(1000) is infinite; which differences of lse are never above 0?
Afterwards see ``_SDPAMerger`` in
``torch/distributed/tensor/experimental/_context_parallel/_attention.py``, on your disk.

Real life differs: each block is computed while the next one travels, and because a causal mask
gives the last rank most of the work, sequences are split differently.
"""

from __future__ import annotations

import torch


# The result, and the log of the sum of exponentials: (..., queries, 1).
Partial = tuple[torch.Tensor, torch.Tensor]


def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> Partial:
    """Return the attention of queries to these keys alone, and its lse.

    q is (..., queries, d), k is (..., keys, d), and v may be wider. Divide scores by the square
    root of d. `mask` is a bool tensor (queries, keys), true where a query sees a key; every query
    sees at least one.
    """
    # TODO: scores, the log of the sum of their exponentials, and the weights.
    raise NotImplementedError("block")


def merge(a: Partial, b: Partial) -> Partial:
    """Return the result for the keys of both, and its lse; finite if both inputs are."""
    # TODO: torch.logaddexp is safe with large numbers.
    raise NotImplementedError("merge")


def ring(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return this rank's share of the attention to the keys of all ranks.

    q, k and v are this rank's share, contiguous and of the same shape on every rank. All ranks call
    this together. If `causal`, a query sees the keys of lower ranks, and those of its own rank up
    to its own position.
    """
    # TODO: whose keys do you have after s steps?
    raise NotImplementedError("ring")
