"""Tests of k13_rewriter: copies, users, and what is erased."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import torch
from expecttest import assert_expected_inline
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx import subgraph_rewriter

from katas.lecture10 import k13_rewriter as kata
from katas.lecture10.k13_rewriter import find_matches
from katas.lecture10.k13_rewriter import replace_pattern
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


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


def rewritten(
    function: Callable[..., Any], pattern: Callable[..., Any], replacement: Callable[..., Any]
) -> tuple[int, fx.GraphModule]:
    """Replace, check what must always hold, and return how many matches, and the module."""
    gm, old, new = traced(function), graph_of(pattern), graph_of(replacement)
    texts = graph_text(old), graph_text(new)
    metas = [dict(node.meta) for node in (*old.nodes, *new.nodes)]
    with unchanged(gm=gm):
        before = graph_text(gm)
        found = find_matches(gm.graph, old)
        assert before == graph_text(gm), "find_matches must not change the graph"
        number = replace_pattern(gm, old, new)
    assert len(found) == number, f"{len(found)} matches were found, but {number} were replaced"
    assert metas == [node.meta for node in (*old.nodes, *new.nodes)], (
        "the nodes' meta in pattern or replacement was changed: leave both as they are"
    )
    gm.graph.lint()
    assert texts == (graph_text(old), graph_text(new)), (
        "pattern or replacement was changed: leave both as they are"
    )
    code = gm.code
    gm.recompile()
    assert gm.code == code, "the code does not match the graph: call gm.recompile()"
    return number, gm


def twice(x: torch.Tensor) -> torch.Tensor:
    """Be a pattern: a chain of two calls."""
    return torch.neg(torch.neg(x))


def same(x: torch.Tensor) -> torch.Tensor:
    """Be a replacement: nothing but the input."""
    return x


def calling(function: Callable[..., Any], *literals: Any, **options: Any) -> Callable[[Any], Any]:
    """Return a program that calls a function with its input and these literals."""
    return lambda x: function(x, *literals, **options)


def pair(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return a program that calls a function with its two inputs."""
    return lambda x, y: function(x, y)  # noqa: PLW0108 - FX traces no builtin


def test_a_replacement_stands_where_the_match_was() -> None:
    """The calls of the match are erased, and its users use the new result."""

    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.relu(torch.sin(a) + b)
        return c.abs() - c * torch.cos(b)

    def pattern(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)

    def replacement(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.clamp(y + x, min=0)

    number, gm = rewritten(function, pattern, replacement)
    a, b = torch.randn(2, 5)

    assert 1 == number, f"you replaced {number}, expected 1: relu(sin(a) + b) is the only match"
    assert_expected_inline(
        graph_text(gm.graph),
        """\
a = input
b = input
sin = sin(a)
add = operator.add(b, sin)
clamp = clamp(add, min=0)
abs = clamp.abs()
cos = cos(b)
mul = operator.mul(clamp, cos)
sub = operator.sub(abs, mul)
return sub""",
    )
    torch.testing.assert_close(gm(a, b), function(a, b))


def test_a_replacement_may_be_nothing() -> None:
    """``neg(neg(x))`` is x: the two calls go, and nothing replaces them."""
    number, gm = rewritten(lambda a: torch.sin(torch.neg(torch.neg(a))), twice, same)

    assert 1 == number, f"you replaced {number}, expected 1: neg(neg(a)) is the only match"
    assert ["placeholder", "call_function", "output"] == [node.op for node in gm.graph.nodes], (
        f"you leave {[node.op for node in gm.graph.nodes]}: both negs should go, and only sin "
        f"should be left"
    )
    assert 0 == rewritten(calling(torch.cos), twice, same)[0], (
        "cos(a) contains no neg(neg(x)): nothing is replaced"
    )


def test_only_the_calls_of_matches_go() -> None:
    """Dead code elsewhere is none of the rewriter's business: a call may have side effects."""

    def function(a: torch.Tensor) -> torch.Tensor:
        torch.cos(a)
        b = torch.neg(torch.neg(a))
        b.backward()
        return b * 2

    number, gm = rewritten(function, twice, calling(torch.sin))

    assert 1 == number, f"you replaced {number}, expected 1: neg(neg(a)) is the only match"
    assert_expected_inline(
        graph_text(gm.graph),
        """\
a = input
cos = cos(a)
sin = sin(a)
backward = sin.backward()
mul = operator.mul(sin, 2)
return mul""",
    )


def test_an_input_may_be_the_result_of_another_match() -> None:
    """That result is erased by then: use the node that replaced it, or whatever replaced that."""

    def function(a: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.relu(torch.relu(a)) + torch.relu(a))

    def chain(a: torch.Tensor) -> torch.Tensor:
        return torch.neg(torch.neg(torch.neg(torch.neg(torch.neg(torch.sin(a))))))

    a = torch.randn(5)
    number, gm = rewritten(function, calling(torch.relu), calling(torch.clamp, min=0))
    assert 4 == number, f"you replaced {number}, expected 4: each relu is a match"
    assert torch.relu not in [node.target for node in gm.graph.nodes], (
        "a relu is left: replace each of the four by a clamp, even if its input was itself replaced"
    )
    torch.testing.assert_close(gm(a), function(a))
    number, gm = rewritten(chain, twice, same)
    assert 2 == number, (
        f"you replaced {number}, expected 2: five negs in a row have two pairs that match"
    )
    assert_expected_inline(
        graph_text(gm.graph),
        """\
a = input
sin = sin(a)
neg = neg(sin)
return neg""",
    )
    torch.testing.assert_close(gm(a), chain(a))


def test_replacements_are_not_searched() -> None:
    """Otherwise replacing ``relu(x)`` by ``relu(relu(x))`` would never end."""
    number, gm = rewritten(
        lambda a: torch.relu(torch.sin(torch.relu(a))),
        calling(torch.relu),
        lambda x: torch.relu(torch.relu(x)),
    )

    assert 2 == number, f"you replaced {number}, expected 2: the relus that were there before"
    assert 4 == sum(node.target is torch.relu for node in gm.graph.nodes), (
        f"you leave {sum(node.target is torch.relu for node in gm.graph.nodes)} relus, "
        "expected 4: each of the two became two"
    )


def test_calls_are_erased_users_first() -> None:
    """In a diamond, a call may have a user that the search met after it."""

    def diamond(x: torch.Tensor) -> torch.Tensor:
        top = torch.sin(x)
        return torch.add(top, torch.cos(top))

    def other(x: torch.Tensor) -> torch.Tensor:
        top = torch.sin(x)
        return torch.add(torch.cos(top), top)

    for function in (diamond, other):
        number, gm = rewritten(applied_twice(function), function, calling(torch.tanh))
        assert 2 == number, (
            f"you replaced {number}, expected 2: {function.__name__} is called twice in a row"
        )
        torch.testing.assert_close(gm(torch.ones(1)), torch.ones(1).tanh().tanh())


def applied_twice(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a program that calls a function with what it returns."""
    return lambda x: function(function(x))


def test_inputs_go_by_their_order() -> None:
    """The first placeholder of the replacement is the first of the pattern, whatever its name."""

    def function(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return torch.addmm(a, b, c)

    def replacement(x: torch.Tensor, w: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return torch.mm(w, a) + x

    def second(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y

    number, gm = rewritten(function, function, replacement)
    a, b, c = torch.rand(3, 2, 2)

    assert 1 == number, f"you replaced {number}, expected 1: the one addmm"
    torch.testing.assert_close(gm(a, b, c), function(a, b, c))
    number, gm = rewritten(pair(torch.add), pair(torch.add), second)
    assert 1 == number, "expected 1 replacement: a placeholder of the replacement need not be used"
    torch.testing.assert_close(gm(a, b), b, rtol=0, atol=0)


def test_placeholders_are_counted() -> None:
    """Placeholders are counted before anything is changed."""
    gm = traced(twice)
    before = graph_text(gm.graph)
    for replacement in (pair(torch.add), lambda: torch.ones(2)):
        try:
            replace_pattern(gm, graph_of(twice), graph_of(replacement))
        except ValueError as error:
            message = str(error)
        else:
            message = "no ValueError"
        assert "placeholders" in message, (
            "expected a ValueError about the numbers of placeholders, before anything is changed; "
            f"yours: {message}"
        )
    assert before == graph_text(gm.graph), (
        "a refused replacement must leave the graph as it is: compare the placeholders first"
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
@given(program=PROGRAMS, rule=st.sampled_from(RULES), seed=st.integers(0, 99))
def test_any_program(program: list[tuple[int, int, int]], rule: tuple[Any, Any], seed: int) -> None:
    """PyTorch's rewriter finds the same matches, and leaves the same calls."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        values = [x, y]
        for step, first, second in program:
            # Counted from the last one, so that chains arise.
            chosen = (values[-1 - first % len(values)], values[-1 - second % len(values)])
            values.append(STEPS[step](*chosen))
        return values[-1], values[-2]

    gm = traced(function)
    theirs = copy.deepcopy(gm)
    actual = replace_pattern(gm, *map(graph_of, rule))
    expected = len(subgraph_rewriter.replace_pattern(theirs, *rule))

    gm.graph.lint()
    assert expected == actual, f"PyTorch finds {expected} matches, you find {actual}"
    inputs = torch.randn(2, 2, generator=torch.Generator().manual_seed(seed)).unbind()
    torch.testing.assert_close(gm(*inputs), function(*inputs))
    assert calls(theirs) == calls(gm), (
        "you leave different calls from PyTorch's replace_pattern, "
        f"{calls(theirs)}:\n{graph_text(gm.graph)}"
    )


def calls(gm: fx.GraphModule) -> Counter[Any]:
    """Return how often each function is called."""
    return Counter(node.target for node in gm.graph.nodes if node.op == "call_function")


def no_dropout(x: torch.Tensor) -> torch.Tensor:
    """Be a pattern: dropout in eval mode."""
    return aten.dropout.default(x, 0.1, False)  # noqa: FBT003 - as it is exported


def residual(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    """Be a pattern: what follows each half of a transformer's layer."""
    total = aten.add.Tensor(x, no_dropout(y))
    return aten.layer_norm.default(total, [16], weight, bias, eps, False)  # noqa: FBT003


def fused(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    """Be a replacement: one call instead of three."""
    return fused_add_norm(x, y, weight, bias, eps)


@fx.wrap
def fused_add_norm(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    """Stand for a kernel that adds and normalises."""
    return nn.functional.layer_norm(x + y, [16], weight, bias, eps)


def test_a_transformer(zoo: Callable[[str], Case]) -> None:
    """In an exported layer both halves are fused, then the dropout between two linears goes."""
    model, inputs = zoo("transformer")
    gm, theirs = (torch.export.export(model, inputs).module() for _ in range(2))
    before = calls(gm)
    fusions = replace_pattern(gm, graph_of(residual), graph_of(fused))
    dropouts = replace_pattern(gm, graph_of(no_dropout), graph_of(same))
    gm.graph.lint()

    assert len(subgraph_rewriter.replace_pattern(theirs, residual, fused)) == fusions, (
        f"you make {fusions} fusions, but PyTorch's replace_pattern makes a different number"
    )
    assert len(subgraph_rewriter.replace_pattern(theirs, no_dropout, same)) == dropouts, (
        f"you remove {dropouts} dropouts, but PyTorch's replace_pattern removes a different number"
    )
    assert min(fusions, dropouts) > 0, (
        f"your pass makes {fusions} fusions and removes {dropouts} dropouts; both patterns occur: "
        f"{before}"
    )
    assert calls(theirs) == calls(gm), (
        f"your graph calls {calls(gm)}, expected {calls(theirs)}, as PyTorch's replace_pattern "
        "leaves them"
    )
    assert fusions == calls(gm)[fused_add_norm], (
        f"your graph calls the fused kernel {calls(gm)[fused_add_norm]} times after {fusions} "
        "replacements"
    )
    assert not {aten.dropout.default, aten.layer_norm.default} & calls(gm).keys(), (
        f"you still call {sorted(str(target) for target in calls(gm))}: expected no dropout and "
        f"no layer_norm"
    )
    torch.testing.assert_close(gm(*inputs), model(*inputs))


READY_MADE = ("torch.fx.replace_pattern", "torch.fx.subgraph_rewriter", "torch._inductor")


def test_nothing_ready_made_is_called() -> None:
    """FX's rewriter may not be called: you are writing it."""
    gm = traced(lambda a: torch.neg(torch.neg(a)) + 1)
    old, new = graph_of(twice), graph_of(same)
    allow = ("torch.fx.passes", "torch._", "torch.fx")
    with forbids(kata, *READY_MADE, allow=allow) as fresh:
        assert 1 == fresh.replace_pattern(gm, old, new), (
            "neg(neg(a)) occurs once: expected 1 replacement"
        )

    assert 3 == len(gm.graph.nodes), f"you leave\n{graph_text(gm.graph)}\nbut should leave a + 1"


def test_a_copy_runs_where_the_result_ran() -> None:
    """The copy is where the result was: not at its first user, nor at the match's first call."""

    def function(a: torch.Tensor) -> torch.Tensor:
        b = torch.neg(a)
        c = torch.sin(a)
        d = torch.neg(b)
        return torch.cos(c) + d

    number, gm = rewritten(function, twice, calling(torch.tanh))

    assert 1 == number, f"you replaced {number}, expected 1: neg(neg(a)) is the only match"
    assert_expected_inline(
        graph_text(gm.graph),
        """\
a = input
sin = sin(a)
tanh = tanh(a)
cos = cos(sin)
add = operator.add(cos, tanh)
return add""",
    )
