"""Tests of k37_lift: levels, lifted nodes, and what is recorded in them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import fx
from torch import nn

import katas.lecture10.k37_lift as kata
from katas.lecture10.branches import cond
from katas.lecture10.branches import scan
from katas.lecture10.k37_lift import Level
from katas.lecture10.k37_lift import Tracer
from katas.lecture10.k37_lift import lift
from katas.lecture10.k37_lift import trace
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def vector(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def find(module: fx.GraphModule, function: Any) -> list[fx.Node]:
    """Return the nodes that call a function."""
    return [node for node in module.graph.nodes if node.target is function]


def check(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Compare a traced function with itself, for the inputs and for their negatives."""
    with unchanged(inputs=inputs):
        module = trace(function)
    for sign in (1, -1):
        signed = [sign * x for x in inputs]
        with unchanged(signed=signed):
            expected, actual = function(*signed), module(*signed)
        assert torch.equal(expected, actual), (
            f"your graph returns {actual}, without tracing it is {expected}\n\n{graph_text(module)}"
        )
    return module


def test_a_node_of_the_same_graph_needs_no_lifting() -> None:
    """A node of the level's own graph is returned as it is."""
    graph = fx.Graph()
    node = graph.placeholder("x")

    assert lift(Level(graph), node) is node, (
        "return a node of this graph as it is: it needs no input"
    )


def test_a_node_from_outside_becomes_an_input() -> None:
    """An outer node becomes one input, however often it is lifted, after the existing inputs."""
    outer, inner = Level(fx.Graph()), Level(fx.Graph())
    inner.parent = outer
    node, other = outer.graph.placeholder("x"), outer.graph.placeholder("y")
    own = inner.add_input()
    found = lift(inner, other)

    assert found.graph is inner.graph, "expected a node of the inner graph that holds the value"
    assert [own, found] == inner.inputs, (
        f"the inputs are {inner.inputs}, expected {[own, found]}: a new one comes after the "
        f"existing ones"
    )
    assert lift(inner, other) is found, (
        "you lift the same node to a second input: look in level.lifted first"
    )
    second = lift(inner, node)
    assert [own, found, second] == inner.inputs, (
        f"the inputs are {inner.inputs}, expected {[own, found, second]}: one for each node "
        "from outside, in the order in which they were lifted"
    )
    assert {other: found, node: second} == inner.lifted, (
        f"lifted is {inner.lifted}, expected { ({other: found, node: second}) }: a dict from the "
        f"parent's node to the input"
    )


def test_a_node_from_far_outside_goes_through_all_graphs() -> None:
    """Each graph in between has it as an input, under its parent's node."""
    outer = Level(fx.Graph())
    middle = Level(fx.Graph(), outer)
    inner = Level(fx.Graph(), middle)
    node = outer.graph.placeholder("x")
    found = lift(inner, node)

    assert 1 == len(middle.inputs), (
        f"the middle graph has {len(middle.inputs)} inputs for it, expected one: what comes from "
        "far outside goes through every graph on the way"
    )
    assert {node: middle.inputs[0]} == middle.lifted, (
        f"the middle graph has lifted {middle.lifted}, expected { ({node: middle.inputs[0]}) }: a "
        f"dict from the outer node to the middle graph's input for it"
    )
    assert {middle.inputs[0]: found} == inner.lifted, (
        "the inner graph should have lifted its parent's node, not the outer one"
    )
    assert lift(middle, node) is middle.inputs[0], (
        "the middle graph already has an input for it, made on the way: return that one"
    )


def test_a_node_that_is_nowhere_outside_is_refused() -> None:
    """A node that is neither in this graph nor in one around it is refused."""
    stray = fx.Graph().placeholder("x")
    with pytest.raises(ValueError, match="used outside"):
        lift(Level(fx.Graph(), Level(fx.Graph())), stray)


def test_both_branches_are_recorded() -> None:
    """The example of the brief: y is closed over, and both branches get it."""

    def function(x: Any, y: Any) -> Any:
        def double(z: Any) -> Any:
            return z * y

        def negate(z: Any) -> Any:
            return -z

        return cond(x.sum() > 0, double, negate, (x,))

    assert_expected_inline(
        graph_text(check(function, vector(1, 2), vector(3, 4))),
        """\
x = input
y = input
sum = x.sum()
gt = operator.gt(sum, 0)
true_graph_0 = self.true_graph_0
false_graph_0 = self.false_graph_0
cond = cond(gt, true_graph_0, false_graph_0, (x, y))
return cond
true_graph_0:
    arg_0 = input
    arg_1 = input
    mul = operator.mul(arg_0, arg_1)
    return mul
false_graph_0:
    arg_0 = input
    arg_1 = input
    neg = operator.neg(arg_0)
    return neg""",
    )


READY_MADE = (
    "torch._higher_order_ops",
    "torch._higher_order_ops.cond",
    "torch._higher_order_ops.scan",
    "torch.cond",
    "torch.ops",
    "torch.while_loop",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's operators may not be called: you are writing them."""
    names = ("katas.lecture10.levels.lift", "katas.lecture10.levels.Tracer", *READY_MADE)
    x = vector(1, 2)
    with forbids(kata, *names) as fresh:
        module = fresh.trace(lambda x: cond(x.sum() > 0, lambda: x + 1, lambda: x - 1, ()))

    torch.testing.assert_close(module(x), x + 1, rtol=0, atol=0)


def test_what_a_branch_does_stays_in_the_branch() -> None:
    """A branch keeps its calls even if all their operands come from outside."""

    def function(x: Any, y: Any) -> Any:
        return cond(x.sum() > 0, lambda: y.exp() + x, lambda: torch.tanh(y), ())

    module = check(function, vector(1, 2), vector(3, 4))
    outside = [str(node.target) for node in module.graph.nodes if node.op.startswith("call")]

    assert 3 == len(outside), f"the outer graph should call only sum, gt and cond, found {outside}"
    ran = []
    for name, branch in module.named_children():
        branch.register_forward_hook(lambda *_, name=name: ran.append(name))
    module(vector(-1, 2), vector(3, 4))
    module(vector(-3, 2), vector(3, 4))
    assert ["true_graph_0", "false_graph_0"] == ran, "expected each call to run one branch"


def test_graphs_nest() -> None:
    """A loop in a branch in a loop: what is far outside is an input of every graph on the way."""

    def function(x: Any, xs: Any, far: Any) -> Any:
        def inner(carry: Any, row: Any) -> tuple[Any, Any]:
            return carry * far + row, row - x

        def outer(carry: Any, row: Any) -> tuple[Any, Any]:
            new = cond(
                carry.sum() > 3, lambda: scan(inner, carry, xs)[0], lambda: carry + row * far, ()
            )
            return new, new - row

        return scan(outer, x, xs)[1]

    module = check(function, vector(1, 2), vector(1, 2, 3, 4).reshape(2, 2), vector(2, 3))
    names = [name for name, _ in module.named_modules() if name]
    assert [
        "step_graph_0",
        "step_graph_0.false_graph_0",
        "step_graph_0.true_graph_0",
        "step_graph_0.true_graph_0.step_graph_0",
    ] == sorted(names), (
        f"your graphs are {sorted(names)}: each graph belongs to the one in which it was recorded"
    )
    for name in names:
        own = [
            node.target
            for node in module.get_submodule(name).graph.nodes
            if node.op == "get_attr" and "graph" not in node.target
        ]
        assert [] == own, f"{name} reads {own} itself, but should get what it needs as an input"


class Gated(nn.Module):
    """A module whose branches use its parameters, in layers and directly."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one of two results."""
        y = x * self.scale
        return cond(
            x.sum() > 0,
            lambda a: self.layer(a) * self.scale,
            lambda a: a - self.layer.bias * self.scale,
            (y,),
        )


def test_a_parameter_is_an_input_as_well() -> None:
    """Each parameter is one input of both branches; the outermost graph reads it once."""
    model = Gated()
    module = trace(model)
    reads = [node.target for node in module.graph.nodes if node.op == "get_attr"]
    (node,) = find(module, cond)
    names = [operand.target for operand in node.args[3][1:]]

    assert sorted(reads[:3]) == ["layer.bias", "layer.weight", "scale"], (
        f"the outermost graph reads {reads}, expected each parameter once"
    )
    assert ["layer.weight", "layer.bias", "scale"] == names, (
        f"the operands are {names}, expected layer.weight, layer.bias and scale, in the order in "
        f"which the true branch lifts them"
    )
    assert module.scale is model.scale, "the graph must use the model's own parameter, not a copy"
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(module(x), model(x))
        module(x).sum().backward()
    expected = module.layer.bias.grad.clone()
    model.zero_grad()
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        model(x).sum().backward()
    torch.testing.assert_close(expected, model.layer.bias.grad)


def test_a_value_does_not_leave_its_branch() -> None:
    """A node of an inner graph means nothing outside of it, nor in the other branch."""
    left = []

    def leak(x: Any) -> Any:
        left.append(x + 1)
        return x

    with pytest.raises(ValueError, match="used outside"):
        trace(lambda x: cond(x.sum() > 0, leak, leak, (x,)) + left[0])
    with pytest.raises(ValueError, match="used outside"):
        trace(lambda x: cond(x.sum() > 0, leak, lambda a: a * left[-1], (x,)))


@pytest.mark.parametrize("where", ["branch", "other branch", "step"])
def test_a_function_in_a_graph_does_not_write(where: str) -> None:
    """``add_`` is refused in each of them; the function around them may write."""

    def function(x: Any) -> Any:
        if where == "step":
            return scan(lambda carry, row: (carry.add_(row), row), x[0], x)[0]
        write, add = (lambda a: a.add_(1)), (lambda a: a.add(1))
        return cond(x.sum() > 0, *((write, add) if where == "branch" else (add, write)), (x,))

    with pytest.raises(ValueError, match="must not write: add_"):
        trace(function)
    check(
        lambda x: x.mul(2).add_(1) + cond(x.sum() > 0, lambda: x + 1, lambda: x - 1, ()), vector(1)
    )


WRITES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "to its input": ("mul_", lambda a, y: a.mul_(2)),
    "to what it has made": ("add_", lambda a, y: (a + 1).add_(1)),
    "to a value from outside": ("neg_", lambda a, y: a + y.neg_()),
    "and returns something else": ("zero_", lambda a, y: (a.zero_(), a + 1)[1]),
}


@pytest.mark.parametrize("what", WRITES)
def test_no_write_is_allowed(what: str) -> None:
    """No method may write, to any value; a name with an underscore only inside is not a write."""
    method, write = WRITES[what]
    refused = []

    def function(x: Any, y: Any) -> Any:
        with pytest.raises(ValueError, match=f"must not write: {method}"):
            cond(x.sum() > 0, lambda a: write(a, y), lambda a: a - 1, (x,))
        refused.append(what)
        return cond(x.sum() > 0, lambda: x.log_softmax(0), lambda: x - 1, ())

    module = trace(function)
    x = vector(1, 2)

    assert [what] == refused, (
        f"while being traced, the function reached this line {len(refused)} times, expected once"
    )
    assert torch.equal(x.log_softmax(0), module(x, x)), (
        f"after catching the error, recording should go on outside:\n\n{graph_text(module)}"
    )


def test_an_error_does_not_leave_the_tracer_inside() -> None:
    """After a program catches it, recording goes on outside."""

    def fail(a: Any) -> Any:
        a.sin()
        raise LookupError("in the branch")

    def function(x: Any) -> Any:
        with pytest.raises(LookupError, match="in the branch"):
            cond(x.sum() > 0, fail, fail, (x,))
        with pytest.raises(LookupError, match="in the branch"):
            scan(lambda carry, row: fail(carry), x, x)
        return x + 1

    check(function, vector(1, 2))


def test_a_result_that_is_refused_does_not_leave_the_tracer_inside() -> None:
    """A branch cannot return what an earlier branch has made."""
    left: list[Any] = []

    def keep(a: Any) -> Any:
        left.append(a + 1)
        return a * 2

    def function(x: Any) -> Any:
        cond(x.sum() > 0, keep, lambda a: a - 1, (x,))
        with pytest.raises(ValueError, match="used outside"):
            cond(x.sum() > 0, lambda a: left[0], lambda a: a - 1, (x,))
        return x + 3

    x = vector(1, 2)
    torch.testing.assert_close(trace(function)(x), x + 3, rtol=0, atol=0)


def test_record_lifts_what_is_known_first() -> None:
    """Known nodes are lifted, used or not, in the given order, after the function's own inputs."""
    tracer = Tracer()
    tracer.trace(lambda x, y: x + y)
    x, y, total = list(tracer.graph.nodes)[:3]
    level = tracer.record(lambda a: a * tracer.proxy(x), 1, (total, y))

    assert [total, y, x] == list(level.lifted), (
        "expected the known values first, then what the function needs"
    )
    assert level.parent is tracer.level, "record did not restore the tracer's level"
    assert_expected_inline(
        graph_text(level.graph),
        """\
arg_0 = input
arg_1 = input
arg_2 = input
arg_3 = input
mul = operator.mul(arg_0, arg_3)
return mul""",
    )


def test_what_is_known_may_be_far_outside() -> None:
    """A known node is an input of every graph on the way, like anything that is lifted."""
    tracer = Tracer()
    tracer.trace(lambda x: x + 1)
    (x, *_) = tracer.graph.nodes
    levels = []

    def outer(a: Any) -> Any:
        levels.append(tracer.record(lambda b: b * 2, 1, (x,)))
        return a + 1

    middle, (inner,) = tracer.record(outer, 1), levels

    assert {x: middle.inputs[1]} == middle.lifted, "x must be an input of the graph in between"
    assert {middle.inputs[1]: inner.inputs[1]} == inner.lifted, (
        "the inner graph must get that input"
    )
