"""Work out which keys each query sees, with is_causal.

The row "step" looks like a decoding step with a cache. Here each query scores all keys alike, and
value j is the number j, so a result is the mean of the indices of the keys that a query may see:

    q, k, v = torch.zeros(L, 1), torch.zeros(S, 1), torch.arange(float(S)).view(S, 1)

On paper, fill in `means`, one number per query; your rows cannot call torch.

Begin with "square". Afterwards read ``CausalBias`` in ``torch/nn/attention/bias.py``, in
site-packages.
"""

from __future__ import annotations


CALLS = {
    "square": "3 queries, 3 keys, is_causal=True",
    "step": "1 query, 16 keys, is_causal=True",
    "chunk": "2 queries, 5 keys, is_causal=True",
    "more queries": "4 queries, 2 keys, is_causal=True",
    "lower right": "2 queries, 5 keys, attn_mask=causal_lower_right(2, 5)",
    "free": "1 query, 16 keys, no mask",
}


def means() -> dict[str, list[float]]:
    """Return the results of the queries, for each call in CALLS."""
    # TODO: return {"square": [..., ..., ...], "step": [...], ...}
    raise NotImplementedError("means")
