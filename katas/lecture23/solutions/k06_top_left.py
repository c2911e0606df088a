"""Work out which keys each query sees, with is_causal."""

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
    return {
        "square": [0, 0.5, 1],
        "step": [0],
        "chunk": [0, 0.5],
        "more queries": [0, 0.5, 0.5, 0.5],
        "lower right": [1.5, 2],
        "free": [7.5],
    }
