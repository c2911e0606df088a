"""Tests of k12_matcher: what a pattern matches."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import Any

import torch
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx import subgraph_rewriter

from katas.lecture10 import k12_matcher as kata
from katas.lecture10.k12_matcher import find_matches
from plugins.kit import forbids
from plugins.kit import graph_text


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case

aten = torch.ops.aten


def traced(function: Callable[..., Any]) -> fx.GraphModule:
    """Return the module of a function's graph."""
    return fx.symbolic_trace(function)


def graph_of(function: Callable[..., Any]) -> fx.Graph:
    """Return the graph of a pattern or of a replacement."""
    return fx.symbolic_trace(function).graph


def count(function: Callable[..., Any], pattern: Callable[..., Any]) -> int:
    """Return how many matches there are of the one in the other."""
    return len(find_matches(traced(function).graph, graph_of(pattern)))


def twice(x: torch.Tensor) -> torch.Tensor:
    """Be a pattern: a chain of two calls."""
    return torch.neg(torch.neg(x))


def same(x: torch.Tensor) -> torch.Tensor:
    """Be a replacement: nothing but the input."""
    return x


def calling(function: Callable[..., Any], *literals: Any, **options: Any) -> Callable[[Any], Any]:
    """Return a program that calls a function with its input and these literals."""
    return lambda x: function(x, *literals, **options)


def method(name: str, *literals: Any) -> Callable[[Any], Any]:
    """Return a program that calls a method of its input."""
    return lambda x: getattr(x, name)(*literals)


def test_a_match_says_what_each_node_stands_for() -> None:
    """Two calls and a wildcard: three entries."""

    def function(a: torch.Tensor) -> torch.Tensor:
        return torch.neg(torch.neg(torch.sin(a)))

    graph, pattern = traced(function).graph, graph_of(twice)
    _, sin, first, second, _ = graph.nodes
    x, inner, outer, _ = pattern.nodes
    before = graph_text(graph)

    assert [{x: sin, inner: first, outer: second}] == find_matches(graph, pattern), (
        f"you find {find_matches(graph, pattern)}, expected one match: x stands for sin, and the "
        f"pattern's two negs stand for the graph's two"
    )
    assert before == graph_text(graph), "find_matches changed the graph"
    assert [] == find_matches(graph, graph_of(lambda x: torch.cos(torch.neg(x)))), (
        "the pattern ends in cos, which the graph never calls: no match"
    )
    assert [] == find_matches(graph, graph_of(lambda x: torch.neg(torch.cos(x)))), (
        "the pattern has a cos inside, which the graph never calls: no match"
    )


def test_calls_must_be_the_same() -> None:
    """Op, target, number of arguments and keywords must match; keywords may be in any order."""

    def pattern(x: torch.Tensor) -> torch.Tensor:
        return torch.add(x, 1, alpha=2, out=None)

    assert 1 == count(calling(torch.add, 1, alpha=2, out=None), pattern), (
        "the same function with equal arguments and keywords: expected one match"
    )
    assert 1 == count(calling(torch.add, 1, out=None, alpha=2), pattern), (
        "only the order of the keywords differs, which does not matter: expected one match"
    )
    assert 0 == count(calling(torch.add, 1, alpha=2), pattern), (
        "the pattern has out=None but the call does not: no match"
    )
    assert 0 == count(pattern, calling(torch.add, 1, alpha=2)), (
        "the call has out=None but the pattern does not: no match"
    )
    assert 0 == count(calling(torch.sub, 1, alpha=2, out=None), pattern), (
        "the call has a different function: no match"
    )
    assert 0 == count(calling(torch.add, 1, alpha=3, out=None), pattern), (
        "alpha has a different value: no match"
    )
    assert 0 == count(calling(torch.sum, 0), calling(torch.sum)), (
        "sum(x, 0) has one argument more than the pattern sum(x): no match"
    )
    assert 0 == count(calling(torch.sum), calling(torch.sum, 0)), (
        "sum(x) has one argument fewer than the pattern sum(x, 0): no match"
    )
    assert 0 == count(method("neg"), calling(torch.neg)), "a method is not a function: no match"
    assert 1 == count(method("view", 2, -1), method("view", 2, -1)), (
        "the same method with equal arguments: expected one match"
    )
    assert 0 == count(method("neg"), method("abs")), "the call has a different method: no match"

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.LeakyReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.relu(x)

    assert 0 == count(Model(), method("relu")), "a submodule called relu is not the method relu"


def test_literals_must_be_the_same() -> None:
    """Equal literals have equal types, which ``==`` does not check; lists match item by item."""
    literals = (1, 1.0, True, 0, 0.0, -0.0, None, "mean", torch.float32)
    for ours in literals:
        for theirs in literals:
            expected = type(ours) is type(theirs) and repr(ours) == repr(theirs)
            actual = count(method("to", ours), method("to", theirs))
            assert expected == bool(actual), (
                f"does {theirs!r} in a pattern match {ours!r}? expected {expected}, you return "
                f"{bool(actual)}: type and value must be equal"
            )
    assert 1 == count(method("view", [0, 1]), method("view", [0, 1])), (
        "[0, 1] in a pattern should match [0, 1]: compare lists item by item"
    )
    assert 1 == count(method("view", (0, 1)), method("view", [0, 1])), (
        "[0, 1] in a pattern should match (0, 1): a list may stand for a tuple with equal items"
    )
    for other in ([1, 0], [0], [0, 1, 2], 0, [0, True]):
        assert 0 == count(method("view", [0, 1]), method("view", other)), (
            f"{other} in a pattern must not match [0, 1]: the items, their number and their types "
            f"have to be equal"
        )
    assert 0 == count(method("view", 0), method("view", [0])), (
        "[0] in a pattern must not match 0: one is a list, the other a number"
    )
    assert 0 == count(lambda a: torch.add(a, a.neg()), calling(torch.add, 1)), (
        "the literal 1 of the pattern must not match a node, a.neg()"
    )
    assert 0 == count(calling(torch.add, 1), lambda x: torch.add(x, x.neg())), (
        "x.neg(), a call of the pattern, must not match the literal 1: only a placeholder may"
    )


def test_nodes_in_lists_are_nodes() -> None:
    """``cat`` takes a list; its items are matched, in order."""

    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, torch.neg(y)], 1)

    assert 1 == count(lambda a, b: torch.cat([b, torch.neg(a)], 1), pattern), (
        "x stands for b and neg(y) for neg(a): nodes in a list are matched in order"
    )
    assert 1 == count(lambda a, b: torch.cat((b, torch.neg(a)), 1), pattern), (
        "a list matches a tuple with the same items: expected one match"
    )
    assert 0 == count(lambda a, b: torch.cat([torch.neg(a), b], 1), pattern), (
        "the items are in a different order from the pattern: no match"
    )
    assert 0 == count(lambda a, b: torch.cat([b, torch.neg(a), a], 1), pattern), (
        "the list has one item more than the pattern's: no match"
    )
    assert 0 == count(lambda a, b: torch.cat([torch.neg(a)], 1), pattern), (
        "the list has one item fewer than the pattern's: no match"
    )
    assert 0 == count(lambda a, b: torch.cat(b, 1), pattern), (
        "the pattern has a list, the call a node: no match"
    )


def test_one_placeholder_is_one_value() -> None:
    """``x * sigmoid(x)`` is not ``x * sigmoid(y)``."""

    def pattern(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)

    def clamp(x: Any, y: Any) -> Any:
        return torch.clamp(x, y, y)

    assert 1 == count(lambda a: a * torch.sigmoid(a), pattern), (
        "x stands for a both times: expected one match"
    )
    assert 0 == count(lambda a, b: a * torch.sigmoid(b), pattern), (
        "x is bound to a, so it cannot match b as well: no match"
    )
    assert 0 == count(lambda a: a * torch.sigmoid(torch.neg(a)), pattern), (
        "x is bound to a, so it cannot match neg(a) as well: no match"
    )
    assert 1 == count(lambda a, b: torch.clamp(a, b, b), clamp), (
        "y stands for b both times: expected one match"
    )
    assert 1 == count(calling(torch.clamp, 1, 1), clamp), (
        "y stands for the literal 1 both times: expected one match"
    )
    assert 0 == count(calling(torch.clamp, 1, 1.0), clamp), (
        "y is bound to 1, so it cannot match 1.0, which has a different type: no match"
    )
    assert 0 == count(lambda a, b: torch.clamp(a, b, 1), clamp), (
        "y is bound to the node b, so it cannot match the literal 1: no match"
    )
    assert 1 == count(method("view", [1], [1]), lambda x, y: x.view(y, y)), (
        "y stands for the list [1] both times: expected one match"
    )
    assert 0 == count(method("view", [1], [1.0]), lambda x, y: x.view(y, y)), (
        "y is bound to [1], so it cannot match [1.0], whose item has a different type: no match"
    )
    assert 0 == count(method("view", [0.0], [-0.0]), lambda x, y: x.view(y, y)), (
        "y is bound to [0.0], so it cannot match [-0.0]: no match"
    )


def test_two_nodes_are_two_nodes() -> None:
    """One call is not two; a wildcard never stands for something computed inside the match."""

    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * y

    def inside(a: torch.Tensor) -> torch.Tensor:
        r = torch.relu(a)
        return r * r

    assert 1 == count(lambda a, b: torch.relu(a) * b, pattern), (
        "x stands for a, y for b: expected one match"
    )
    assert 1 == count(lambda a: torch.relu(a) * torch.relu(a), pattern), (
        "two relus are computed, so y stands for the second one: expected one match"
    )
    assert 0 == count(inside, pattern), (
        "y would stand for the relu that is to be replaced: two nodes of a pattern never stand for "
        "the same node, so expected no match"
    )
    assert 0 == count(inside, lambda x: torch.relu(x) * torch.relu(x)), (
        "the pattern has two relus and the graph has one: two nodes never stand for the "
        "same node, so expected no match"
    )
    assert 0 == count(lambda a: a + a, lambda x, y: x + y), (
        "x and y would both stand for a: two placeholders never stand for the same node, so "
        "expected no match"
    )


def test_a_wildcard_may_be_a_literal() -> None:
    """Two literals may be equal: only nodes have to be different."""

    def function(a: torch.Tensor) -> torch.Tensor:
        return torch.add(torch.mul(a, 2), 2)

    pattern = graph_of(lambda x, y, z: torch.add(torch.mul(x, y), z))
    _, y, z, *_ = pattern.nodes
    found = find_matches(traced(function).graph, pattern)

    assert 1 == len(found), f"you find {len(found)} matches, expected 1"
    assert (2, 2) == (found[0][y], found[0][z]), "a literal must be recorded unchanged"


def test_what_is_used_outside_stays() -> None:
    """If an inner value is used elsewhere or returned, there is no match."""

    def used(a: torch.Tensor) -> torch.Tensor:
        b = torch.neg(a)
        return torch.neg(b) + torch.sin(b)

    def returned(a: torch.Tensor) -> Any:
        b = torch.neg(a)
        return torch.neg(b), [b]

    def used_by_the_dead(a: torch.Tensor) -> torch.Tensor:
        b = torch.neg(a)
        torch.sin(b)
        return torch.neg(b)

    def result_and_input_used(a: torch.Tensor) -> Any:
        b = torch.sin(a)
        c = torch.neg(torch.neg(b))
        return c + torch.cos(c), b, c

    assert 0 == count(used, twice), "sin uses the inner neg: no match"
    assert 0 == count(returned, twice), "the inner neg is returned: no match"
    assert 0 == count(used_by_the_dead, twice), (
        "sin uses the inner neg, though nothing uses sin: no match"
    )
    assert 1 == count(result_and_input_used, twice), (
        "result and inputs may be used anywhere: expected one match"
    )


def test_matches_do_not_overlap() -> None:
    """Of five calls in a row two pairs are taken, from the front."""

    def function(a: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            a = torch.neg(a)
        return a

    graph, pattern = traced(function).graph, graph_of(twice)
    _, *negs, _ = graph.nodes
    _, inner, outer, _ = pattern.nodes
    found = [(match[inner], match[outer]) for match in find_matches(graph, pattern)]

    assert [(negs[0], negs[1]), (negs[2], negs[3])] == found, (
        f"you pair {found}, expected the first with the second neg and the third with the "
        "fourth: no call is in two matches"
    )


def test_what_is_no_match_takes_no_calls() -> None:
    """The first two of three calls are no match, since the first is returned; the last two are."""

    def function(a: torch.Tensor) -> Any:
        inner = torch.neg(a)
        middle = torch.neg(inner)
        return inner, torch.neg(middle)

    assert 1 == count(function, twice), (
        "expected one match: the first two negs do not match, since the first is returned, but the "
        "last two do"
    )


RULES: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (twice, same),
    (lambda x: torch.relu(torch.neg(x)), lambda x: torch.neg(torch.clamp(x, max=0))),
    (lambda x, y: torch.neg(x) + y, lambda x, y: y - x),
    (lambda x, y: torch.neg(x + torch.neg(y)), lambda x, y: y - x),
    (lambda x: torch.relu(x) + torch.neg(torch.relu(x)), lambda x: x * 0),
    (lambda x, y: torch.cat([x, torch.neg(y)]), lambda x, y: torch.neg(torch.cat([-x, y]))),
    (lambda x: x + torch.neg(torch.relu(x)), lambda x: torch.clamp(x, max=0)),
]


STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: torch.neg(a),
    lambda a, b: torch.neg(b),
    lambda a, b: torch.relu(a),
    lambda a, b: a + b,
    lambda a, b: torch.cat([a, b])[:2],
]


# To explain a failure, hypothesis would run a program a hundred times or so.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)


PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 9), st.integers(0, 9)),
    min_size=3,
    max_size=14,
)


@settings(phases=PHASES)
@given(program=PROGRAMS, rule=st.sampled_from(RULES))
def test_any_program(program: list[tuple[int, int, int]], rule: tuple[Any, Any]) -> None:
    """PyTorch's rewriter finds as many matches."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        values = [x, y]
        for step, first, second in program:
            # Counted from the last one, so that chains arise.
            chosen = (values[-1 - first % len(values)], values[-1 - second % len(values)])
            values.append(STEPS[step](*chosen))
        return values[-1], values[-2]

    gm = traced(function)
    yours = len(find_matches(gm.graph, graph_of(rule[0])))
    theirs = len(subgraph_rewriter.replace_pattern(copy.deepcopy(gm), *rule))

    assert theirs == yours, (
        f"PyTorch finds {theirs} matches, you find {yours}, in\n{graph_text(gm)}"
    )


def no_dropout(x: torch.Tensor) -> torch.Tensor:
    """Be a pattern: dropout in eval mode."""
    return aten.dropout.default(x, 0.1, False)  # noqa: FBT003 - as it is exported


def residual(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    """Be a pattern: what follows each half of a transformer's layer."""
    total = aten.add.Tensor(x, no_dropout(y))
    return aten.layer_norm.default(total, [16], weight, bias, eps, False)  # noqa: FBT003


def test_a_transformer(zoo: Callable[[str], Case]) -> None:
    """Patterns in an exported layer: the end of both halves, and three dropouts."""
    model, inputs = zoo("transformer")
    gm = torch.export.export(model, inputs).module()
    for pattern in (residual, no_dropout):
        yours = len(find_matches(gm.graph, graph_of(pattern)))
        theirs = len(subgraph_rewriter.replace_pattern(copy.deepcopy(gm), pattern, pattern))
        assert theirs == yours, (
            f"{pattern.__name__}: PyTorch finds {theirs} matches, you find {yours}"
        )
        assert yours > 0, pattern.__name__


READY_MADE = (
    "torch._inductor",
    "torch._inductor.pattern_matcher",
    "torch.fx.passes.utils.matcher_utils",
    "torch.fx.passes.utils.matcher_with_name_node_map_utils",
    "torch.fx.replace_pattern",
    "torch.fx.subgraph_rewriter",
)


def test_nothing_ready_made_is_called() -> None:
    """FX's matcher may not be called: you are writing it."""
    gm = traced(lambda a: torch.neg(torch.neg(a)) + 1)
    with forbids(kata, *READY_MADE) as fresh:
        found = len(fresh.find_matches(gm.graph, graph_of(twice)))

    assert 1 == found, f"you find {found} matches, expected the one neg(neg(a))"


def test_keywords_are_compared_too() -> None:
    """A keyword argument may be a placeholder or a call."""

    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.clamp(x, max=torch.neg(y))

    graph, wanted = traced(lambda a, b: torch.clamp(b, max=torch.neg(a))).graph, graph_of(pattern)
    a, b, neg, clamp, _ = graph.nodes
    x, y, inner, outer, _ = wanted.nodes
    found = find_matches(graph, wanted)

    assert [{x: b, y: a, inner: neg, outer: clamp}] == found, (
        f"you find {found}, expected one match: x stands for b, y for a"
    )
