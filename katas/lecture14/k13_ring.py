"""Attend to a sequence that no rank holds.

A million tokens of keys and values do not fit on one GPU. So each rank keeps its share of the
queries, and keys and values travel round a ring. But softmax divides by a sum over all keys, and a
rank sees a share at a time. What must it remember of a share to correct its result later?

    softmax([a b | c d]) v  =  (the result for [a b]) * ea + (the result for [c d]) * ec
    lse = log(exp(a) + exp(b))   for each share, and ea = exp(lse of [a b] - lse of [a b c d])

1. `block`: attention to one share, and its lse.
2. `merge`: the result for two shares, of their results.
3. `ring`: own keys first; then each rank passes on what it has, n - 1 times. With gloo,
   ``dist.send`` returns when the other side receives: ranks that send first wait for each other.

Begin on paper: exp(1000) is infinite; which differences of lse are never above 0?
Afterwards see ``_SDPAMerger`` in
``torch/distributed/tensor/experimental/_context_parallel/_attention.py``, on your disk.

Real life differs: a block is computed while the next one travels, and with a causal mask the last
rank works most, so sequences are cut otherwise.
"""

from __future__ import annotations

import torch


# The result, and the log of the sum of exponentials: (..., queries, 1).
Partial = tuple[torch.Tensor, torch.Tensor]


def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> Partial:
    """Return the attention of queries to these keys alone, and its lse.

    q is (..., queries, d), k is (..., keys, d), and v may be wider. Scores are divided by the root
    of d. `mask` is a bool (queries, keys), true where a query sees a key; each query sees one at
    least.
    """
    # TODO: scores, what their exponentials add up to, and the weights.
    raise NotImplementedError("block")


def merge(a: Partial, b: Partial) -> Partial:
    """Return the result for the keys of both, and its lse; it is finite if theirs are."""
    # TODO: torch.logaddexp is safe with large numbers.
    raise NotImplementedError("merge")


def ring(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool) -> torch.Tensor:
    """Return this rank's share of the attention to the keys of all ranks.

    q, k and v are the share of this rank, contiguous and of one shape on each. The ranks call it
    together. If `causal`, a query sees the keys of lower ranks, and of its own rank those up to
    its own place.
    """
    # TODO: whose keys have you got after so many steps?
    raise NotImplementedError("ring")
