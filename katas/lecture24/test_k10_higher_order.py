"""Tests of k10_higher_order: modules found in graphs do what the functions did."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention

from katas.lecture24.k10_higher_order import calls
from katas.lecture24.k10_higher_order import graph_of
from katas.lecture24.k10_higher_order import mods


SLOPES = torch.tensor([0.3, 0.7])
X = torch.randn(1, 2, 8, 4, generator=torch.Generator().manual_seed(10))
INDEX = [torch.tensor(n) for n in (0, 1, 6, 2)]


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence the compiler's log."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)


def sloped(score: Any, _batch: Any, head: Any, query: Any, key: Any) -> Any:
    """Prefer near keys: this function captures a tensor."""
    return score - SLOPES[head] * (query - key)


def halved(score: Any, _batch: Any, _head: Any, _query: Any, _key: Any) -> Any:
    """Halve a score."""
    return score / 2


def causal(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow keys that are not after the query."""
    return query >= key


def near(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    """Allow keys within a distance of three."""
    return (query - key).abs() < 3


def mask_of(mod: Any) -> BlockMask:
    """Return the block mask of eight tokens."""
    return create_block_mask(mod, None, None, 8, 8, device="cpu", BLOCK_SIZE=4)


def number(graph: Any, right: int) -> list[Any]:
    """Return your pairs, after checking that there are as many as calls."""
    __tracebackhide__ = True
    found = list(mods(graph))
    assert len(found) == right, (
        f"the graph calls flex_attention {right} times, but you return {len(found)} pairs"
    )
    return found


def test_one_call() -> None:
    """The score function captures a tensor, and the mask captures a number."""
    mask = mask_of(near)
    graph = graph_of(lambda x: flex_attention(x, x, x, score_mod=sloped, block_mask=mask), X)
    ((score, allowed),) = number(graph, 1)
    assert_expected_inline(
        f"score_mod: {calls(score)}\nmask_mod: {calls(allowed)}",
        """\
score_mod: getitem sub mul sub
mask_mod: sub abs lt""",
    )
    inputs = [
        sum(node.op == "placeholder" for node in each.graph.nodes) for each in (score, allowed)
    ]
    assert inputs == [6, 4], (
        f"your modules have {inputs} inputs, expected [6, 4]: score_mod's five and the tensor that"
        " it captures, and mask_mod's four"
    )
    value = torch.tensor(0.25)
    (yours,) = [x for x in [score(value, *INDEX, SLOPES)] if isinstance(x, torch.Tensor)] or [None]
    assert yours is not None, "your score_mod returned no tensor, expected one"
    torch.testing.assert_close(
        yours, sloped(value, *INDEX), msg=lambda text: f"your score_mod, called: {text}"
    )


def test_two_calls() -> None:
    """Each call has its own pair, in the order of the calls."""
    first, second = mask_of(near), mask_of(causal)

    def attend(x: torch.Tensor) -> torch.Tensor:
        y = flex_attention(x, x, x, score_mod=sloped, block_mask=first)
        return flex_attention(y, x, x, score_mod=halved, block_mask=second)

    pairs = [tuple(map(calls, pair)) for pair in number(graph_of(attend, X), 2)]
    right = [("getitem sub mul sub", "sub abs lt"), ("truediv", "ge")]
    assert pairs == right, f"in two calls, your mods call {pairs}, expected {right}"


def test_mods_that_nobody_gave() -> None:
    """Without mods there are modules too: one returns the score unchanged, the other True."""
    ((score, allowed),) = number(graph_of(lambda x: flex_attention(x, x, x), X), 1)
    value = torch.tensor(0.25)
    yours = score(value, *INDEX)
    assert torch.equal(yours, value), f"score_mod of {value} is {yours}, expected the same"
    answer = allowed(*INDEX)
    assert bool(answer), f"mask_mod is {answer}, expected True"


def test_beside_another_operator() -> None:
    """A cond has two submodules of its own, which are no mods."""

    def attend(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
        return flex_attention(y, y, y, score_mod=halved)

    ((score, _),) = number(graph_of(attend, X), 1)
    yours = calls(score)
    assert yours == "truediv", f"next to a cond: your score_mod calls {yours!r}, expected 'truediv'"


def test_no_call_at_all() -> None:
    """No FlexAttention, no pairs."""
    number(graph_of(lambda x: x.relu(), X), 0)


def test_names_say_nothing() -> None:
    """The same two calls, in a graph whose modules have exchanged their names."""
    first, second = mask_of(near), mask_of(causal)

    def attend(x: torch.Tensor) -> torch.Tensor:
        y = flex_attention(x, x, x, score_mod=sloped, block_mask=first)
        return flex_attention(y, x, x, score_mod=halved, block_mask=second)

    graph = graph_of(attend, X)
    modules = dict(graph.named_children())
    names = dict(zip(modules, reversed(modules), strict=True))
    for name, module in modules.items():
        setattr(graph, names[name], module)
    for node in graph.graph.nodes:
        if node.op == "get_attr":
            node.target = names.get(node.target, node.target)
    pairs = [tuple(map(calls, pair)) for pair in number(graph, 2)]
    right = [("getitem sub mul sub", "sub abs lt"), ("truediv", "ge")]
    assert pairs == right, (
        f"two calls, in a graph with renamed modules: your mods call {pairs}, expected"
        f" {right}. The arguments of a call show which modules belong to it"
    )
