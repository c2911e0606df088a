"""Tests of k07_dead_code: purity, and what goes."""

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

from katas.lecture10 import k07_dead_code as kata
from katas.lecture10.k07_dead_code import eliminate_dead_code
from katas.lecture10.k07_dead_code import is_pure
from plugins.kit import forbids
from plugins.kit import function_name
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case

aten = torch.ops.aten


PASSES = {"dead": eliminate_dead_code}


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


PURITY = {
    aten.add.Tensor: True,
    aten.view.default: True,
    aten.arange.default: True,
    aten.sort.default: True,
    operator.getitem: True,
    aten.add_.Tensor: False,
    aten.add.out: False,
    aten._native_batch_norm_legit.default: False,  # noqa: SLF001 - writes running statistics
    aten.rand.default: False,
    aten.bernoulli.default: False,
    aten.native_dropout.default: False,
    aten.randn_like.default: False,
    aten._assert_async.msg: False,  # noqa: SLF001 - returns nothing
    operator.setitem: False,
    operator.add: False,
    torch.relu: False,
    print: False,
}


@pytest.mark.parametrize("function", PURITY, ids=function_name)
def test_pure_is_what_schema_and_tags_say(function: Any) -> None:
    """Use no list of names: the operator itself knows whether it writes or draws."""
    node = fx.Graph().call_function(function)
    expected, actual = PURITY[function], is_pure(node)
    text = "does no more than compute a value" if expected else "writes, draws, or is unknown"

    assert expected == actual, (
        f"{function} {text}: is_pure should be {expected}, not {actual}; ask its schema, "
        "which says what it writes and returns, and its tags, which say whether it draws"
    )


def test_an_operator_that_nobody_has_heard_of() -> None:
    """No list of names contains it; its schema and its tags say what it does."""
    seeded = (torch.Tag.nondeterministic_seeded,)
    # Private, but what PyTorch's own tests use: the operators are removed afterwards.
    with torch.library._scoped_library("lecture10_k02", "FRAGMENT") as library:  # noqa: SLF001
        library.define("noise(Tensor x) -> Tensor", tags=seeded)
        library.define("note(Tensor x) -> ()")
        library.define("bump(Tensor(a!) x) -> Tensor")
        library.define("rand_(Tensor x) -> Tensor")
        operators = torch.ops.lecture10_k02
        for name, expected in (("noise", False), ("note", False), ("bump", False), ("rand_", True)):
            function = getattr(operators, name).default
            actual = is_pure(fx.Graph().call_function(function))
            assert expected == actual, (
                f"is_pure should be {expected}, but yours returns {actual}, for "
                f"{function._schema}, tags {function.tags}: "  # noqa: SLF001
                "ask schema and tags, not names"
            )


def test_pure_nodes_by_op() -> None:
    """Reading an attribute is pure; methods and modules may do anything."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    nodes = [x, graph.create_node("get_attr", "w"), graph.call_method("relu", (x,))]
    nodes += [graph.create_node("call_module", "fc", (x,)), graph.output(x)]

    assert [False, True, False, False, False] == [is_pure(node) for node in nodes], (
        f"is_pure returns {[is_pure(node) for node in nodes]} for placeholder, get_attr, "
        f"call_method, call_module and output: of these, only reading an attribute is pure"
    )
    packet = graph.call_function(aten.add, (x, 1))
    assert not is_pure(packet), (
        "aten.add is not one operator but several: nobody knows which one runs, so it is not pure"
    )


def test_dead_code_goes_and_the_rest_stays() -> None:
    """A chain of dead nodes is removed as a whole; the input stays though nothing uses it."""
    build = Builder()
    x, _y = build.input("x"), build.input("y")
    a = build.call(aten.add.Tensor, x, 1)
    build.call(aten.cos.default, build.call(aten.sin.default, build.read()))
    b = build.call(aten.neg.default, a)
    build.call(aten.sin.default, b)
    text = assert_pass("dead", build.done(b), torch.rand(2, 2), torch.rand(2, 2))

    assert_expected_inline(
        text,
        """\
x = input
y = input
add = aten.add.Tensor(x, 1)
neg = aten.neg.default(add)
return (neg,)""",
    )


def test_impure_nodes_stay_with_what_they_use() -> None:
    """A write, a random number, an assertion: nothing uses them, and all three matter."""
    build = Builder()
    x = build.input("x")
    a = build.call(aten.sin.default, x)
    build.call(aten.add_.Tensor, x, a)
    build.call(aten.rand.default, [2])
    positive = build.call(aten.all.default, build.call(aten.gt.Scalar, x, -1))
    build.call(aten._assert_async.msg, positive, "must be positive")  # noqa: SLF001
    build.call(aten.cos.default, x)
    text = assert_pass("dead", build.done(build.call(aten.rand_like.default, x)), torch.rand(2))

    assert_expected_inline(
        text,
        """\
x = input
sin = aten.sin.default(x)
add_ = aten.add_.Tensor(x, sin)
rand = aten.rand.default([2])
gt = aten.gt.Scalar(x, -1)
all = aten.all.default(gt)
_assert_async = aten._assert_async.msg(all, 'must be positive')
rand_like = aten.rand_like.default(x)
return (rand_like,)""",
    )


def test_nobody_knows_what_a_module_does() -> None:
    """A call of a module or a method without users stays."""
    build = Builder()
    build.root.norm = nn.BatchNorm1d(2)
    x = build.input("x")
    build.graph.call_module("norm", (x,))
    build.graph.call_method("add_", (x, 1))
    gm = build.done(build.call(aten.sin.default, x))
    assert_pass("dead", gm, torch.rand(2, 2))

    assert ["call_module", "call_method"] == [node.op for node in gm.graph.nodes][1:3], (
        f"you leave {[node.op for node in gm.graph.nodes]}: nobody knows what a module or "
        "a method does, so both calls stay"
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
    """The same results, random numbers and writes, and nothing dead is left."""
    gm = program(steps, writes=writes)
    inputs = torch.rand(2, 2, 2, generator=torch.Generator().manual_seed(seed)).unbind()
    before = copy.deepcopy(gm)
    eliminate_dead_code(gm)

    assert_same(before, gm, *inputs)
    assert 0 == eliminate_dead_code(gm), "a second run should find nothing to do"
    assert [] == [node for node in gm.graph.nodes if is_pure(node) and not node.users], (
        "dead nodes are left"
    )


def test_models(zoo: Callable[[str], Case]) -> None:
    """Traced to ATen: PyTorch's own pass finds nothing after yours."""
    model, inputs = zoo("lstm")
    with torch.no_grad():
        gm = make_fx(lambda *x: model(*x)[:1])(*inputs)
    before = copy.deepcopy(gm)

    assert eliminate_dead_code(gm) > 0, "nothing uses the final states: at least one node should go"
    assert_same(before, gm, *inputs)
    assert not copy.deepcopy(gm).graph.eliminate_dead_code(), "PyTorch's pass still finds dead code"


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
    """PyTorch's own pass may not be called: you are writing it."""
    build = Builder()
    x = build.input("x")
    build.call(aten.cos.default, x)
    gm = build.done(build.call(aten.sin.default, x))
    with forbids(kata, *READY_MADE, allow=("torch._", "torch.ops", "torch.?")) as fresh:
        fresh.eliminate_dead_code(gm)

    assert 3 == len(gm.graph.nodes), (
        f"you leave\n{graph_text(gm.graph)}\nand should drop the cos, which nothing uses"
    )
