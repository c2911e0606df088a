"""Tests of k09_duplicates: what is the same, and what only looks so."""

from __future__ import annotations

import copy
import operator
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch._functorch.compile_utils
import torch.fx.experimental.const_fold
from expecttest import assert_expected_inline
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.dialect.common import cse_pass
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture10 import k09_duplicates as kata
from katas.lecture10.k09_duplicates import merge_duplicates
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case

aten = torch.ops.aten


PASSES = {"duplicate": merge_duplicates}


class Builder:
    """Writes a graph of ATen operators, with a tensor `w` that it can read."""

    def __init__(self, **attributes: torch.Tensor) -> None:
        self.graph = fx.Graph()
        self.root = nn.Module()
        for name, tensor in {"w": torch.arange(1.0, 5.0).reshape(2, 2), **attributes}.items():
            self.root.register_buffer(name, tensor)

    def input(self, name: str) -> fx.Node:
        """Add a placeholder."""
        return self.graph.placeholder(name)

    def read(self, name: str = "w") -> fx.Node:
        """Add a get_attr."""
        return self.graph.create_node("get_attr", name)

    def call(self, function: Any, *args: Any, **kwargs: Any) -> fx.Node:
        """Add a call_function."""
        return self.graph.call_function(function, args, kwargs)

    def done(self, *results: Any) -> fx.GraphModule:
        """Add the output and return the module."""
        self.graph.output(results)
        return fx.GraphModule(self.root, self.graph)


def assert_same(before: fx.GraphModule, after: fx.GraphModule, *inputs: torch.Tensor) -> None:
    """Compare results, random numbers and what was written to the inputs."""
    after.graph.lint()
    outcomes = []
    for gm in (copy.deepcopy(before), copy.deepcopy(after)):
        mine = [x.clone() for x in inputs]
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            # The code, not the graph: a pass that does not recompile has changed nothing.
            results = gm(*mine)
            outcomes.append([list(results), mine, torch.rand(2)])
    torch.testing.assert_close(outcomes[1], outcomes[0], rtol=0, atol=0, equal_nan=True)


def assert_pass(name: str, gm: fx.GraphModule, *inputs: torch.Tensor) -> str:
    """Run a pass, check what can be checked of every pass, and return the new graph as text."""
    before = copy.deepcopy(gm)
    with unchanged(gm=gm, inputs=inputs):
        removed = PASSES[name](gm)
    strange = [key for key, value in gm.named_buffers() if value.is_inference()]
    assert [] == strange, f"{strange} are inference tensors, which nobody can train with"
    expected = len(before.graph.nodes) - len(gm.graph.nodes)
    assert expected == removed, f"the graph is {expected} nodes shorter, but you return {removed}"
    assert_same(before, gm, *inputs)
    for word in ("sin", "cos", "neg"):
        inside = any(word in str(node.target) for node in gm.graph.nodes)
        written = word in gm.code
        assert inside == written, (
            f"{word} is {'' if inside else 'not '}in the graph, but {'' if written else 'not '}in "
            "gm.code, which is what runs: call gm.recompile()"
        )
    return graph_text(gm.graph)


def test_the_same_thing_is_computed_once() -> None:
    """Calls are the same even if their arguments are equal only after earlier merges."""
    build = Builder()
    x, y = build.input("x"), build.input("y")
    a, b = build.call(aten.sin.default, x), build.call(aten.sin.default, x)
    c = build.call(aten.cat.default, [a, build.read()])
    d = build.call(aten.cat.default, [b, build.read()])
    e = build.call(aten.add.Tensor, c, y, alpha=2)
    f = build.call(aten.add.Tensor, d, y, alpha=2)
    g = build.call(aten.add.Tensor, d, y, alpha=3)
    h = build.call(aten.add.Tensor, y, d)
    text = assert_pass("duplicate", build.done(e, f, g, h), torch.rand(2, 2), torch.rand(4, 2))

    assert_expected_inline(
        text,
        """\
x = input
y = input
sin = aten.sin.default(x)
w = self.w
cat = aten.cat.default([sin, w])
add = aten.add.Tensor(cat, y, alpha=2)
add_1 = aten.add.Tensor(cat, y, alpha=3)
add_2 = aten.add.Tensor(y, cat)
return (add, add, add_1, add_2)""",
    )


def duplicates(*calls: tuple[Any, tuple[Any, ...], dict[str, Any]], x: torch.Tensor) -> int:
    """Return how many of these calls are left, each with x before its arguments."""
    build = Builder()
    node = build.input("x")
    gm = build.done(*(build.call(op, node, *args, **kwargs) for op, args, kwargs in calls))
    assert_pass("duplicate", gm, x)
    return len(gm.graph.nodes) - 2


def test_the_order_of_keywords_does_not_matter() -> None:
    """A call is the same whichever keyword was written first, but not if a value differs."""
    full, x = aten.full_like.default, torch.rand(2)
    first = {"dtype": torch.float64, "pin_memory": False}
    swapped = {"pin_memory": False, "dtype": torch.float64}

    assert 1 == duplicates((full, (2,), first), (full, (2,), swapped), x=x), (
        "the two calls have the same arguments: expected one"
    )
    other = {"dtype": torch.float16, "pin_memory": False}
    assert 2 == duplicates((full, (2,), first), (full, (2,), other), x=x), (
        "dtype=float64 and dtype=float16 are two calls: compare the values of keywords"
    )
    assert 2 == duplicates((full, (2,), first), (full, (2,), {"dtype": torch.float64}), x=x), (
        "one call passes pin_memory=False and the other does not: two calls"
    )


def test_equal_literals_are_not_the_same() -> None:
    """``1 == 1.0 == True`` and ``0.0 == -0.0`` in Python, but calls with them are not the same."""
    add, div = aten.add.Tensor, aten.div.Tensor
    numbers = torch.tensor([1, 2])

    assert 3 == duplicates(*((add, (one,), {}) for one in (1, 1.0, True, 1)), x=numbers), (
        "x + 1, x + 1.0 and x + True are three different calls, and only the second x + 1 is a "
        "duplicate: compare the types of literals too"
    )
    assert 3 == duplicates(*((add, (), {"other": one}) for one in (1, 1.0, True, 1)), x=numbers), (
        "other=1, other=1.0 and other=True are three calls: compare the types of keyword "
        "arguments too"
    )
    assert 2 == duplicates(*((div, (zero,), {}) for zero in (0.0, -0.0, 0.0)), x=numbers), (
        "x / 0.0 and x / -0.0 are two calls, inf and -inf: 0.0 == -0.0 does not distinguish them"
    )
    nested = [(aten.sum.dim_IntList, (dims,), {}) for dims in ([0], [0, 1], [0], [1, 0])]
    assert 3 == duplicates(*nested, x=torch.rand(2, 2)), (
        "compare lists item by item, with the types of the items"
    )


def test_random_numbers_are_drawn_as_often_as_before() -> None:
    """Two calls of ``bernoulli`` look the same but are not; nor is what is computed from them."""
    build = Builder()
    x = build.input("x")
    a, b = build.call(aten.bernoulli.default, x), build.call(aten.bernoulli.default, x)
    c, d = build.call(aten.neg.default, a), build.call(aten.neg.default, b)
    e, f = build.call(aten.neg.default, x), build.call(aten.neg.default, x)
    gm = build.done(c, d, e, f)
    assert_pass("duplicate", gm, torch.full((20,), 0.5))

    left = [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    expected = ["aten.bernoulli.default"] * 2 + ["aten.neg.default"] * 3
    assert expected == left, "only the two calls of neg on x are the same, so merge only these"


def test_results_of_one_operator_are_told_apart() -> None:
    """Items 0 and 1 are two values, even if their operator occurred twice."""
    build = Builder()
    x = build.input("x")
    first, second = build.call(aten.sort.default, x), build.call(aten.sort.default, x)
    items = [
        build.call(operator.getitem, made, item) for made in (first, second) for item in (0, 1)
    ]
    gm = build.done(*items)
    assert_pass("duplicate", gm, torch.rand(5))

    assert [aten.sort.default, operator.getitem, operator.getitem] == [
        node.target for node in gm.graph.nodes if node.op == "call_function"
    ], (
        "you leave "
        f"{[node.target for node in gm.graph.nodes if node.op == 'call_function']}: expected one "
        f"sort, and its items 0 and 1"
    )


class Bump(nn.Module):
    """Writes to what it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x, one more than it was."""
        return x.add_(1)


@pytest.mark.parametrize("kind", ["in-place", "out", "method", "function", "module"])
def test_a_graph_with_writes_is_left_alone(kind: str) -> None:
    """One of two equal sums is written to, through a view: they are two tensors."""
    build = Builder()
    x = build.input("x")
    a, b = build.call(aten.add.Tensor, x, 1), build.call(aten.add.Tensor, x, 1)
    view = build.call(aten.view.default, a, [4])
    if kind == "in-place":
        build.call(aten.add_.Tensor, view, 1)
    elif kind == "out":
        build.call(aten.exp.out, view, out=view)
    elif kind == "method":
        build.graph.call_method("add_", (view, 1))
    elif kind == "module":
        build.root.bump = Bump()
        build.graph.call_module("bump", (view,))
    else:
        build.call(operator.iadd, view, 1)
    gm = build.done(a, b)
    expected = graph_text(gm.graph)

    assert expected == assert_pass("duplicate", gm, torch.rand(2, 2)), (
        "a node writes in place, so leave the graph unchanged"
    )


def after(gm: fx.GraphModule, run: Callable[[fx.GraphModule], int]) -> fx.GraphModule:
    """Return a copy on which a pass has run."""
    gm = copy.deepcopy(gm)
    run(gm)
    return gm


OPERATORS: list[tuple[Any, int, tuple[Any, ...]]] = [
    # Function, how many values it takes, the literals after them.
    (aten.add.Tensor, 2, ()),
    (aten.mul.Tensor, 1, (2,)),
    (aten.mul.Tensor, 1, (2.0,)),
    (aten.sin.default, 1, ()),
    (aten.mm.default, 2, ()),
    (aten.t.default, 1, ()),
    (aten.cat.default, -2, ()),
    (aten.rand_like.default, 1, ()),
    (aten.ones.default, 0, ([2, 2],)),
    (aten.add_.Tensor, 1, (1,)),
]


# To explain a failure, hypothesis would run a program a hundred times or so.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)


PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(OPERATORS) - 1), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=12,
)


def program(steps: list[tuple[int, int, int]], *, writes: bool) -> fx.GraphModule:
    """Return a graph of steps, each on values that were there before, all of them 2 by 2."""
    build = Builder()
    values = [build.input("x"), build.input("y"), build.read(), build.read()]
    for step, first, second in steps:
        function, count, literals = OPERATORS[step]
        chosen = [values[place % len(values)] for place in (first, second)][: abs(count)]
        if function is aten.add_.Tensor and not writes:
            continue
        made = build.call(function, *([chosen] if count < 0 else chosen), *literals)
        if count < 0:
            made = build.call(aten.narrow.default, made, 0, first % 3, 2)
        values.append(made)
    return build.done(values[-1], values[len(values) // 2])


@settings(phases=PHASES)
@given(steps=PROGRAMS, seed=st.integers(0, 99), writes=st.booleans())
def test_any_program(steps: list[tuple[int, int, int]], seed: int, writes: Any) -> None:
    """The same results, random numbers and writes, and a second run finds nothing."""
    gm = program(steps, writes=writes)
    inputs = torch.rand(2, 2, 2, generator=torch.Generator().manual_seed(seed)).unbind()
    before = copy.deepcopy(gm)
    merge_duplicates(gm)

    assert_same(before, gm, *inputs)
    assert 0 == merge_duplicates(gm), "a second run should find nothing to do"


READY_MADE = (
    "functorch",
    "torch._functorch",
    "torch._functorch.compile_utils",
    "torch._inductor",
    "torch.fx.Graph.eliminate_dead_code",
    "torch.fx.Node.is_impure",
    "torch.fx.experimental.const_fold",
    "torch.fx.passes",
    "torch.fx.passes.dialect.common.cse_pass",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's own passes may not be called: you are writing them."""
    build = Builder()
    x = build.input("x")
    gm = build.done(*(build.call(aten.sin.default, x) for _ in "ab"))
    with forbids(kata, *READY_MADE, allow=("torch._", "torch.ops", "torch.?")) as fresh:
        fresh.merge_duplicates(gm)

    assert 3 == len(gm.graph.nodes), (
        f"you leave\n{graph_text(gm.graph)}\nbut should compute the sine once"
    )


class Runs(TorchDispatchMode):
    """Counts the operators that run."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count one."""
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_fewer_operators_run(zoo: Callable[[str], Case]) -> None:
    """Shown on an LSTM traced to ATen; PyTorch's own pass finds nothing after yours."""
    model, inputs = zoo("lstm")
    with torch.no_grad():
        gm = make_fx(lambda *x: model(*x)[:1])(*inputs)
    before = copy.deepcopy(gm)
    with Runs() as naive:
        before(*inputs)
    removed = merge_duplicates(gm)
    with Runs() as yours:
        gm(*inputs)

    assert_same(before, gm, *inputs)
    assert yours.count < naive.count, (
        f"your graph runs {yours.count} operators, the original one {naive.count}: expected fewer"
    )
    assert removed > 0, "return the number of nodes that were removed"
    assert not cse_pass.CSEPass(cse_pass.get_CSE_banned_ops())(gm).modified, (
        "PyTorch's pass still finds duplicates"
    )
