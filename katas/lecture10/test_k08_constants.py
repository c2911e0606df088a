"""Tests of k08_constants: what is folded, what stays, and where it is kept."""

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

from katas.lecture10 import k08_constants as kata
from katas.lecture10.k08_constants import fold_constants
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case

aten = torch.ops.aten


PASSES = {"constant": fold_constants}


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


def test_constants_are_computed_once_and_for_all() -> None:
    """What does not depend on inputs becomes a buffer; what only constants use goes away."""
    build = Builder()
    x = build.input("x")
    a = build.call(aten.t.default, build.call(aten.sin.default, build.read()))
    b = build.call(aten.arange.default, 2, dtype=torch.float32)
    c = build.call(aten.mul.Tensor, a, other=build.call(aten.cos.default, b))
    y = build.call(aten.add.Tensor, build.call(aten.mm.default, x, c), a)
    gm = build.done(y, a)
    names = {name for name, _ in gm.named_buffers()}
    text = assert_pass("constant", gm, torch.rand(2, 2))
    new = [node.target for node in gm.graph.nodes if node.op == "get_attr"]
    for number, target in enumerate(new):
        text = text.replace(target, f"new{number}")

    assert_expected_inline(
        text,
        """\
x = input
new0 = self.new0
new1 = self.new1
mm = aten.mm.default(x, new1)
add = aten.add.Tensor(mm, new0)
return (add, new0)""",
    )
    assert set(new) | names == {name for name, _ in gm.named_buffers()}, (
        "store the constant as a buffer"
    )
    assert not names & set(new), (
        f"the graph still reads {sorted(names & set(new))}, which only constants used: remove what "
        f"is read and never used"
    )


def test_constants_are_read_by_their_path() -> None:
    """The weight of a layer is a get_attr of "fc.weight"; the new buffer's path has no dots."""
    build = Builder()
    build.root.fc = nn.Linear(2, 2)
    x = build.input("x")
    wide = build.call(aten.t.default, build.read("fc.weight"))
    gm = build.done(build.call(aten.mm.default, x, wide))
    assert_pass("constant", gm, torch.rand(2, 2))

    assert ["placeholder", "get_attr", "call_function", "output"] == [
        node.op for node in gm.graph.nodes
    ], (
        f"you leave {[node.op for node in gm.graph.nodes]}: expected the transposed weight to "
        f"be one get_attr, of a new buffer"
    )


def test_folding_runs_the_operators_of_constants_alone() -> None:
    """Twice on one module: the second time there is nothing to do, and no name is taken again."""
    build = Builder()
    x, w = build.input("x"), build.read()
    gm = build.done(build.call(aten.mm.default, x, build.call(aten.exp.default, w)))
    assert_pass("constant", gm, torch.rand(2, 2))
    first = {name: value.clone() for name, value in gm.named_buffers()}
    assert 0 == fold_constants(gm), "the second run should have nothing to fold"
    assert first.keys() == dict(gm.named_buffers()).keys(), (
        f"the buffers are {sorted(dict(gm.named_buffers()))}: a run that folds nothing must store "
        f"nothing"
    )

    # Another constant, in the same module.
    *_, output = gm.graph.nodes
    with gm.graph.inserting_before(output):
        other = gm.graph.call_function(aten.neg.default, (gm.graph.get_attr("w"),))
        output.args = ((*output.args[0], other),)
    gm.recompile()
    assert_pass("constant", gm, torch.rand(2, 2))
    assert len(first) + 1 == len(dict(gm.named_buffers())), "each constant needs its own name"
    assert all(torch.equal(value, gm.get_buffer(name)) for name, value in first.items()), (
        "a buffer of the first run has a different value now: each new buffer needs an unused name"
    )


def test_the_name_of_a_buffer_is_no_attribute_yet() -> None:
    """A taken name is skipped: the name used in the first module is a number in the second."""

    def module() -> fx.GraphModule:
        build = Builder()
        x, w = build.input("x"), build.read()
        return build.done(build.call(aten.mm.default, x, build.call(aten.exp.default, w)))

    first, second = module(), module()
    fold_constants(first)
    (taken,) = (node.target for node in first.graph.nodes if node.op == "get_attr")
    setattr(second, taken, 7)
    try:
        fold_constants(second)
    except KeyError as error:
        raise AssertionError(f"the name is taken: {error}") from error
    assert 7 == getattr(second, taken), f"{taken} was an attribute before, and was overwritten"


def test_what_is_no_constant_is_not_folded() -> None:
    """Random numbers are new each time, an assertion stays, and a list is not a tensor."""
    build = Builder()
    x, w = build.input("x"), build.read()
    noise = build.call(aten.rand.default, [2])
    drawn = build.call(aten.bernoulli.p, w, 0.5)
    sure = build.call(aten.all.default, w)
    build.call(aten._assert_async.msg, sure, "w holds a zero")  # noqa: SLF001
    parts = build.call(aten.split.Tensor, w, 1)
    top = build.call(operator.getitem, parts, 0)
    top = build.call(aten.add.Tensor, build.call(aten.add.Tensor, top, noise), drawn)
    joined = build.call(aten.cat.default, parts)
    whole = build.call(aten.cat.default, build.call(aten.split.Tensor, x, 1))
    gm = build.done(top, joined, whole)
    assert_pass("constant", gm, torch.rand(2, 2))
    left = [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]

    assert [
        "aten.rand.default",
        "aten.bernoulli.p",
        "aten._assert_async.msg",
        "aten.add.Tensor",
        "aten.add.Tensor",
        "aten.split.Tensor",
        "aten.cat.default",
    ] == left, (
        f"you leave {left}: random numbers, the assertion and what depends on x stay; "
        f"everything else depends only on w and is folded"
    )


def test_a_list_of_constants_stays_where_it_is_used_as_a_list() -> None:
    """Two tensors from a list are results and are folded; the list is a result too, and is not."""
    build = Builder()
    x, w = build.input("x"), build.read()
    parts = build.call(aten.split.Tensor, w, 1)
    y = build.call(aten.add.Tensor, x, build.call(operator.getitem, parts, 1))
    gm = build.done(y, parts)
    assert_pass("constant", gm, torch.rand(2))

    assert ["placeholder", "get_attr", "call_function", "get_attr", "call_function", "output"] == [
        node.op for node in gm.graph.nodes
    ], (
        f"you leave {[node.op for node in gm.graph.nodes]}: the item becomes a buffer; the list "
        f"is not a tensor, so the split of w stays for the result"
    )


def test_folded_parameters_require_no_grad() -> None:
    """A buffer is data: it has no autograd graph, not even where nothing is computed."""
    build = Builder()
    build.root.p = nn.Parameter(torch.rand(2, 2))
    x, p = build.input("x"), build.read("p")
    same = build.call(aten.contiguous.default, p)
    both = build.call(aten.mm.default, p, p)
    total = build.call(aten.add.Tensor, build.call(aten.mul.Tensor, x, same), both)
    gm = build.done(total)
    assert_pass("constant", gm, torch.rand(2, 2))

    assert not any(value.requires_grad for value in gm.buffers()), "compute under no_grad; detach"
    assert gm.p.requires_grad, "the parameter itself no longer requires grad: leave it as it was"
    left = [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    assert ["aten.mul.Tensor", "aten.add.Tensor"] == left, (
        f"you leave {left}: contiguous returns the parameter itself, which is a constant tensor too"
    )
    assert not any(isinstance(value, nn.Parameter) for value in gm.buffers()), (
        "a folded constant must be a buffer, not a parameter"
    )


def test_no_graph_of_autograd_is_recorded_for_constants() -> None:
    """A graph would keep in memory everything that the constants were computed from."""
    packed: list[torch.Size] = []
    build = Builder()
    build.root.p = nn.Parameter(torch.rand(2, 2))
    x, p = build.input("x"), build.read("p")
    gm = build.done(build.call(aten.mul.Tensor, x, build.call(aten.mm.default, p, p)))
    hooks = (lambda saved: packed.append(saved.shape) or saved, lambda saved: saved)
    with torch.autograd.graph.saved_tensors_hooks(*hooks):
        fold_constants(gm)

    assert [] == packed, "autograd saved tensors for backward: compute under torch.no_grad"


class Bump(nn.Module):
    """Writes to what it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x, one more than it was."""
        return x.add_(1)


@pytest.mark.parametrize("kind", ["in-place", "out", "method", "function", "module"])
def test_a_graph_with_writes_is_left_alone(kind: str) -> None:
    """The write may show in what would be folded, or in a view of it."""
    build = Builder()
    x, w = build.input("x"), build.read()
    view = build.call(aten.view.default, w, [4])
    before = build.call(aten.mul.Tensor, w, 2)
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
    after = build.call(aten.mul.Tensor, build.read(), 2)
    gm = build.done(before, after, x)
    expected = graph_text(gm.graph)

    assert expected == assert_pass("constant", gm, torch.rand(2, 2)), (
        "a node writes in place, so leave the graph unchanged"
    )
    assert ["w"] == [attribute for attribute, _ in gm.named_buffers()], (
        "a graph that is left alone must get no new buffer"
    )


def test_assertions_and_random_numbers_are_no_writes() -> None:
    """A graph that holds them is folded, except for them."""
    build = Builder()
    x, w = build.input("x"), build.read()
    build.call(aten._assert_async.msg, build.call(aten.all.default, w), "zero")  # noqa: SLF001
    noise = build.call(aten.rand.default, [2])
    gm = build.done(build.call(aten.mul.Tensor, x, build.call(aten.sin.default, w)), noise)
    assert_pass("constant", gm, torch.rand(2, 2))

    assert "sin" not in gm.code, f"sin of w is a constant and should be folded: {gm.code}"
    assert "_assert_async" in gm.code, "the assertion was removed, but it is called for its effect"


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
    fold_constants(gm)

    assert_same(before, gm, *inputs)
    assert 0 == fold_constants(gm), "a second run should find nothing to do"


def test_models(zoo: Callable[[str], Case]) -> None:
    """In a model traced to ATen, no call is left that depends on no input."""
    model, inputs = zoo("transformer")
    with torch.no_grad():
        gm = make_fx(lambda *x: (model(*x),))(*inputs)
    before = copy.deepcopy(gm)

    assert fold_constants(gm) > 0, (
        "nothing was folded: a linear layer transposes its weight, which can be done beforehand"
    )
    assert_same(before, gm, *inputs)
    left = [
        node
        for node in gm.graph.nodes
        if kata.is_pure(node) and node.op != "get_attr"
        if all(used.op == "get_attr" for used in node.all_input_nodes)
    ]
    assert [] == left, "these nodes depend on no input, expected none to be left"


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's own folding may not be called: you are writing it."""
    build = Builder()
    x = build.input("x")
    gm = build.done(build.call(aten.mm.default, x, build.call(aten.t.default, build.read())))
    names = ("torch.fx.experimental.const_fold", "torch._inductor")
    with forbids(kata, *names, allow=("torch._", "torch.ops", "torch.?", "torch.fx")) as fresh:
        fresh.fold_constants(gm)

    assert 4 == len(gm.graph.nodes), (
        f"you leave\n{graph_text(gm.graph)}\nbut should leave x, one buffer, mm and the output"
    )
