"""Tests of k40_compiler: passes, the cut, code, and models that train through all of them."""

from __future__ import annotations

import copy
import logging
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

from plugins.kit import graph_text


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from katas.lecture10.conftest import Case

aten = torch.ops.aten


def new_compiler() -> Any:
    """Return the exercise. It imports Dynamo, which collecting the tests should not wait for."""
    return import_module("katas.lecture10.k40_compiler").Compiler()


@pytest.fixture(autouse=True)
def _fresh_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget all compiled code, before and after: Dynamo keeps it with each function's code."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    yield
    torch._dynamo.reset()  # noqa: SLF001


def optimized(function: Callable[..., Any], *inputs: torch.Tensor) -> list[str]:
    """Return the operators that are left of a function, and compare its results."""
    gm = make_fx(function)(*inputs)
    before = copy.deepcopy(gm)
    new_compiler().optimize(gm)
    gm.graph.lint()
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        theirs = before(*(x.clone() for x in inputs)), torch.rand(1)
        torch.manual_seed(0)
        yours = gm(*(x.clone() for x in inputs)), torch.rand(1)
    torch.testing.assert_close(
        yours, theirs, rtol=0, atol=0, msg=lambda m: f"yours:\n{graph_text(gm)}\n{m}"
    )
    names = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    called = gm.code.count("aten.") - gm.code.count("ops.aten\n")
    assert called >= len(names), "the code does not match the graph: call gm.recompile()"
    return [name.removeprefix("aten.") for name in names]


def joint_of(function: Callable[..., torch.Tensor], *primals: torch.Tensor) -> fx.GraphModule:
    """Return the joint graph that AOTAutograd makes of a function of one output."""
    functorch_compile = import_module("functorch.compile")
    found: list[fx.GraphModule] = []

    def keep(joint: fx.GraphModule, inputs: Any, **options: Any) -> Any:
        found.append(copy.deepcopy(joint))
        return functorch_compile.default_partition(joint, inputs, **options)

    def run(gm: fx.GraphModule, _: Any) -> Any:
        return functorch_compile.make_boxed_func(gm.forward)

    traced = functorch_compile.aot_function(function, run, bw_compiler=run, partition_fn=keep)
    traced(*primals)
    return found[0]


def waves(x: torch.Tensor) -> torch.Tensor:
    """Three cheap operators, whose derivatives need their inputs."""
    return x.sin().sin().sin()


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Only the inputs are needed in backward."""
    return torch.mm(x, w)


def compiled(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> tuple[Any, Any, Any]:
    """Return the compiler after one step, and results and gradients of eager and compiled."""
    compiler, found = new_compiler(), []
    for run in (function, torch.compile(function, backend=compiler, dynamic=False)):
        leaves = [x.clone().requires_grad_() for x in inputs]
        try:
            output = run(*leaves)
        except torch._dynamo.exc.BackendCompilerFailed as error:  # noqa: SLF001 - its only name
            raise error.inner_exception from None
        gradients = torch.autograd.grad(output.sum(), leaves, allow_unused=True)
        found.append((output.detach(), gradients))
    return compiler, *found


UNARY = (torch.sin, torch.exp, torch.relu, torch.tanh, lambda x: torch.softmax(x, -1))


BINARY = (torch.add, torch.mul, torch.mm, torch.maximum)


STEPS = st.lists(st.tuples(*(st.integers(0, 8) for _ in "abc")), min_size=1, max_size=5)


@pytest.mark.step(1, "passes")
def test_the_same_is_computed_once() -> None:
    """Calls are the same if their arguments are, in lists and keywords too."""

    def function(x: torch.Tensor) -> Any:
        a, b = x.sin().exp(), x.sin().exp()
        return torch.cat([a, x]) + torch.cat([b, x]), a.sum(0, keepdim=True) * b.sum(0, True)  # noqa: FBT003

    names = optimized(function, torch.rand(3))
    expected = ["sin.default", "exp.default", "cat.default", "add.Tensor", "sum.dim_IntList"]
    assert [*expected, "mul.Tensor"] == names, (
        f"you leave {names}, expected each distinct call once"
    )


@pytest.mark.step(1, "passes")
def test_keyword_arguments_are_told_apart() -> None:
    """Both add x and y: the keyword alpha is part of the key."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.add(x, y, alpha=2), x + y, torch.add(x, y, alpha=2)

    names = optimized(function, torch.rand(3), torch.rand(3))
    assert ["add.Tensor"] * 2 == names, (
        f"you leave {names}, expected two adds: two calls pass alpha=2, and one passes no alpha"
    )


@pytest.mark.step(1, "passes")
def test_literals_are_told_apart() -> None:
    """1, 1.0 and True are equal in Python, and so are 0.0 and -0.0."""
    names = optimized(lambda x: (x + 1, x + 1.0, x + True, x + 1), torch.arange(3))
    assert ["add.Tensor"] * 3 == names, (
        f"you leave {names}, expected three adds: only two of the four sums are the same"
    )

    names = optimized(lambda x: (x.clamp(min=0.0), x.clamp(min=-0.0)), torch.zeros(3))
    assert 2 == len(names), (
        f"you leave {names}, expected two calls: 0.0 and -0.0 are different literals"
    )


@pytest.mark.step(1, "passes")
def test_random_numbers_are_drawn_as_before() -> None:
    """Two calls look the same but are not; nor is what is computed from them."""
    names = optimized(lambda x: torch.rand_like(x).sin() - torch.rand_like(x).sin(), torch.rand(3))

    assert 2 == names.count("rand_like.default"), (
        f"you leave {names}, expected two calls of rand_like: each draws its own numbers"
    )
    assert 2 == names.count("sin.default"), (
        f"you leave {names}, expected two calls of sin: their inputs differ"
    )


@pytest.mark.step(1, "passes")
def test_what_is_behind_a_write_is_left() -> None:
    """AOTAutograd leaves a ``copy_`` to an input at the end; a read after it differs."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    sines = [graph.call_function(aten.sin.default, (x,)) for _ in range(2)]
    total = graph.call_function(aten.add.Tensor, tuple(sines))
    graph.call_function(aten.copy_.default, (x, total))
    graph.output((total, graph.call_function(aten.sin.default, (x,))))
    gm = fx.GraphModule({}, graph)
    new_compiler().optimize(gm)

    text = f"yours leaves\n{graph_text(gm)}"
    names = [str(node.target) for node in gm.graph.nodes]
    assert 2 == names.count("aten.sin.default"), (
        f"expected two sines, one before the write and one after it: {text}"
    )
    assert 1 == names.count("aten.copy_.default"), (
        f"keep the write, whether or not it is used: {text}"
    )
    before = torch.rand(3)
    found = gm(before.clone())
    torch.testing.assert_close(found, (2 * before.sin(), (2 * before.sin()).sin()))


@pytest.mark.step(1, "passes")
def test_dead_nodes_go() -> None:
    """Nodes that nobody uses, and nodes that only those use."""
    gm = make_fx(lambda x: x + 1)(torch.rand(3))
    (x,) = gm.graph.find_nodes(op="placeholder")
    with gm.graph.inserting_after(x):
        sine = gm.graph.call_function(aten.sin.default, (x,))
    with gm.graph.inserting_after(sine):
        gm.graph.call_function(aten.cos.default, (sine,))
    gm.recompile()
    new_compiler().optimize(gm)

    assert 3 == len(gm.graph.nodes), (
        f"you leave {len(gm.graph.nodes)} nodes, expected 3:\n{graph_text(gm)}"
    )
    assert "sin" not in gm.code, "the code does not match the graph: call gm.recompile()"


@pytest.mark.step(2, "the cut")
def test_the_smaller_cut_is_taken() -> None:
    """The default saves two sines of 24 bytes; a minimum cut saves only the input."""
    compiler = new_compiler()
    forward, backward = compiler.partition(
        joint_of(waves, torch.rand(3, dtype=torch.float64).requires_grad_()),
        (),
        num_fwd_outputs=1,
    )

    assert [0] == compiler.saved, f"saved is {compiler.saved}, expected [0]: an input costs nothing"
    names = [str(node.target) for node in backward.graph.nodes]
    assert 2 == names.count("aten.sin.default"), f"backward should compute two sines again: {names}"
    assert 5 == len(forward.graph.nodes), (
        f"forward has {len(forward.graph.nodes)} nodes, expected 5:\n{graph_text(forward)}"
    )


@pytest.mark.step(2, "the cut")
def test_a_product_is_paid_for() -> None:
    """The default saves it and a sine, 128 bytes each; the minimum cut two input views more."""
    compiler = new_compiler()
    inputs = (torch.rand(4, 4, dtype=torch.float64).requires_grad_() for _ in "xw")
    compiler.partition(
        joint_of(lambda x, w: torch.mm(x, w).sin().sin(), *inputs), (), num_fwd_outputs=1
    )

    assert [256] == compiler.saved, (
        f"saved is {compiler.saved}, expected [256], the bytes of mm and sin"
    )


@pytest.mark.step(2, "the cut")
def test_a_saved_value_may_be_the_first() -> None:
    """Random numbers cannot be drawn again: both cuts save them, and no input before them."""
    compiler, x = new_compiler(), torch.rand(3, dtype=torch.float64).requires_grad_()
    compiler.partition(joint_of(lambda x: x * torch.rand_like(x), x), (), num_fwd_outputs=1)

    assert [24] == compiler.saved, (
        f"saved is {compiler.saved}, expected [24], the bytes of the random numbers"
    )


@pytest.mark.step(2, "the cut")
def test_cuts_that_cost_the_same() -> None:
    """The derivative of a sum needs nothing: either cut is right, so compare only the bytes."""
    compiler, x = new_compiler(), torch.rand(3).requires_grad_()
    compiler.partition(joint_of(lambda x: x + 1, x), (), num_fwd_outputs=1)

    assert [0] == compiler.saved, f"saved is {compiler.saved}, expected [0]"


@pytest.mark.step(2, "the cut")
def test_each_cut_has_an_entry() -> None:
    """If only inputs are saved, the entry is 0."""
    joint = joint_of(product, *(torch.rand(4, 4).requires_grad_() for _ in "xw"))
    compiler = new_compiler()
    compiler.partition(joint, (), num_fwd_outputs=1)
    compiler.partition(joint, (), num_fwd_outputs=1)

    assert [0, 0] == compiler.saved, (
        f"saved is {compiler.saved}, expected [0, 0], an entry for each joint graph"
    )


@pytest.mark.step(2, "the cut")
def test_the_joint_graph_is_not_changed() -> None:
    """A partitioner may rewrite what it is given: give it a copy."""
    joint = joint_of(lambda x: x.sin() * x.sin(), torch.rand(3).requires_grad_())
    before = graph_text(joint)
    new_compiler().partition(joint, (), num_fwd_outputs=1)

    assert before == graph_text(joint), "the joint graph was changed"


@pytest.mark.step(3, "a callable for a graph")
def test_a_graph_is_optimized_and_kept() -> None:
    """Duplicates are removed from what is kept and run; inputs come in one list."""
    gm = make_fx(lambda x: (x.sin() + x.sin(),))(torch.rand(3))
    compiler, x = new_compiler(), torch.rand(3)
    run: Any = compiler.compile_graph(gm, [x])
    (result,) = run([x])

    torch.testing.assert_close(result, x.sin() * 2)
    assert [gm] == compiler.graphs, "append the graph to graphs"
    assert 4 == len(gm.graph.nodes), f"expected only one sine to be left:\n{graph_text(gm)}"
    assert getattr(run, "_boxed_call", False), (
        "what you return is not marked as taking a list: use make_boxed_func"
    )


@pytest.mark.step(4, "the backend")
def test_forward_and_backward_read_so() -> None:
    """There are two graphs: backward computes the sine again, from the saved input."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sin() + x.sin().sin()

    compiler, eager, yours = compiled(function, torch.rand(3))
    torch.testing.assert_close(yours, eager)

    assert [0] == compiler.saved, f"saved is {compiler.saved}, expected [0]"
    assert_expected_inline(
        "\n\n".join(graph_text(graph.graph) for graph in compiler.graphs),
        """\
primals_1 = input
sin = aten.sin.default(primals_1)
sin_1 = aten.sin.default(sin)
add = aten.add.Tensor(sin_1, sin_1)
return (add, primals_1)

primals_1 = input
tangents_1 = input
sin = aten.sin.default(primals_1)
cos = aten.cos.default(sin)
mul = aten.mul.Tensor(tangents_1, cos)
cos_1 = aten.cos.default(primals_1)
mul_1 = aten.mul.Tensor(mul, cos_1)
add = aten.add.Tensor(mul_1, mul_1)
return (add,)""",
    )


@pytest.mark.step(4, "the backend")
@settings(max_examples=8)
@given(steps=STEPS, seed=st.integers(0, 99))
def test_any_program(steps: list[tuple[int, int, int]], seed: int) -> None:
    """Values and gradients are those of eager."""
    torch._dynamo.reset()  # noqa: SLF001

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        values = [x, y, x + y]
        for step, first, second in steps:
            one, other = (values[place % len(values)] for place in (first, second))
            function = (*UNARY, *BINARY)[step]
            values.append(function(one, other) if step >= len(UNARY) else function(one))
        return values[-1] * values[2]

    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(2, 3, 3, dtype=torch.float64, generator=generator).unbind()
    compiler, eager, yours = compiled(function, *inputs)

    torch.testing.assert_close(yours, eager)
    assert 2 == len(compiler.graphs), (
        f"{len(compiler.graphs)} graphs, expected one forward and one backward"
    )


@pytest.mark.step(4, "the backend")
def test_gradcheck_agrees() -> None:
    """The compiled function's backward graph computes its numerical derivatives."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    run = torch.compile(model, backend=new_compiler(), dynamic=False)
    x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    try:
        assert torch.autograd.gradcheck(run, x)
    except torch._dynamo.exc.BackendCompilerFailed as error:  # noqa: SLF001
        raise error.inner_exception from None


@pytest.mark.step(4, "the backend")
def test_a_model_trains(zoo: Callable[[str], Case]) -> None:
    """A transformer layer trains three steps: the parameters are those of eager."""
    model, inputs = zoo("transformer")
    twin, compiler = copy.deepcopy(model), new_compiler()
    run = torch.compile(twin, backend=compiler, dynamic=False)
    optimizers = [torch.optim.SGD(each.parameters(), 0.1) for each in (model, twin)]
    for _ in range(3):
        for forward, optimizer in zip((model, run), optimizers, strict=True):
            optimizer.zero_grad()
            try:
                forward(*inputs).square().mean().backward()
            except torch._dynamo.exc.BackendCompilerFailed as error:  # noqa: SLF001
                raise error.inner_exception from None
            optimizer.step()

    for (name, theirs), yours in zip(model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(yours, theirs, msg=lambda m, n=name: f"{n} after 3 steps: {m}")
    assert 2 == len(compiler.graphs), f"{len(compiler.graphs)} graphs for three steps, expected 2"
