"""Tests of k06_top_left: the results are computed now, and your table is read without torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from katas.lecture23 import k06_top_left as kata
from plugins.kit import forbids


# Queries, keys and options of the calls.
OPTIONS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "square": (3, 3, {"is_causal": True}),
    "step": (1, 16, {"is_causal": True}),
    "chunk": (2, 5, {"is_causal": True}),
    "more queries": (4, 2, {"is_causal": True}),
    "lower right": (2, 5, {}),
    "free": (1, 16, {}),
}
RULES = {
    "square": "query i sees the keys 0 to i",
    "step": "where does the mask begin: with the first key, or with the last?",
    "chunk": "query 0 is treated as if it were the first token of all",
    "more queries": "after the last key there is nothing more to see",
    "lower right": "the last query sees the last key, and the one before it one key less",
    "free": "a single new token may see all",
}


def computed(name: str) -> list[float]:
    """Return what PyTorch returns for a call."""
    queries, keys, options = OPTIONS[name]
    if name == "lower right":
        # This module imports torch._dynamo, which takes seconds.
        from torch.nn.attention.bias import causal_lower_right  # noqa: PLC0415

        options = {"attn_mask": causal_lower_right(queries, keys)}
    q, k = torch.zeros(1, 1, queries, 1).double(), torch.zeros(1, 1, keys, 1).double()
    v = torch.arange(keys).double().view(1, 1, keys, 1)
    found: list[float] = scaled_dot_product_attention(q, k, v, **options).flatten().tolist()
    return found


def predicted() -> dict[str, list[float]]:
    """Return your table, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.means(), fresh.means()
        assert rows == again, "`means` returned a different table when called again"
        found: dict[str, list[float]] = rows
        return found


def test_every_call_has_its_queries() -> None:
    """Each call has a number for each query."""
    rows = predicted()

    assert {*rows} == {*OPTIONS}, f"your rows are {sorted(rows)}, expected {sorted(OPTIONS)}"
    odd = [name for name, row in rows.items() if len(row) != OPTIONS[name][0]]
    assert not odd, f"expected a number for each query; your rows {odd} differ"


@pytest.mark.parametrize("name", OPTIONS)
def test_means(name: str) -> None:
    """Each number is the mean of the keys that the query sees."""
    yours, right = predicted()[name], computed(name)
    missed = [
        i for i, pair in enumerate(zip(yours, right, strict=True)) if abs(pair[0] - pair[1]) > 1e-9
    ]

    assert not missed, (
        f"{kata.CALLS[name]}: your results for queries {missed} are wrong; {RULES[name]}"
    )
