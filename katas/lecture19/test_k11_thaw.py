"""Tests of k11_thaw: the graphs are made now, and your table is read without torch."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from katas.lecture19 import k11_thaw as kata
from plugins.kit import forbids


CASES: dict[str, set[str]] = {
    "probe": {"head"},
    "bridge": {"bridge"},
    "prompt": {"x"},
    "no_grad": {"x", "head"},
    "thawed": {"head"},
    "refrozen": {"encoder", "bridge", "head"},
}
HAS_ONE = "a result has a grad_fn if grad mode is on, and any input of the call requires a gradient"
RULES = {
    "probe": HAS_ONE,
    "bridge": HAS_ONE,
    "prompt": "a frozen layer passes on the gradient of its input",
    "no_grad": "under no_grad nothing is recorded, whatever the inputs require",
    "thawed": "the graph was recorded in the forward, and nothing is added to it later",
    "refrozen": "a weight is asked whether it requires a gradient when its gradient arrives, too",
}

Row = tuple[set[str], set[str]]


def found(name: str) -> Row:
    """Return what has a grad_fn, and what has a .grad."""
    torch.manual_seed(0)
    leaves = {part: nn.Parameter(torch.rand(2, 2)) for part in ("x", "encoder", "bridge", "head")}
    for part, leaf in leaves.items():
        leaf.requires_grad_(part in CASES[name])
    linear = nn.functional.linear
    with torch.no_grad() if name == "no_grad" else nullcontext():
        h = linear(leaves["x"], leaves["encoder"])
        m = linear(h, leaves["bridge"])
    y = linear(m, leaves["head"])
    results = {key for key, each in (("h", h), ("m", m), ("y", y)) if each.grad_fn is not None}
    if name in {"thawed", "refrozen"}:
        leaves["bridge"].requires_grad_(name == "thawed")
    y.sum().backward()
    return results, {part for part, leaf in leaves.items() if leaf.grad is not None}


@pytest.mark.parametrize("name", CASES)
def test_graphs(name: str) -> None:
    """Which results have a grad_fn, and which leaves a .grad."""
    with forbids(kata) as fresh:
        rows, again = fresh.graphs(), fresh.graphs()
    assert rows == again, "called again, `graphs` returns a different table"
    assert rows.keys() == CASES.keys(), f"yours has rows {sorted(rows)}, expected {sorted(CASES)}"
    yours, right = rows[name], found(name)
    questions = zip(("which have a grad_fn", "which have a .grad"), yours, right, strict=True)
    missed = [what for what, mine, theirs in questions if {*mine} != theirs]

    assert not missed, (
        f"{name}: expected a different answer to {' and '.join(missed)}. {RULES[name]}"
    )
