"""Tests of k16_cond_scan: what is lifted, what is recorded, what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn

import katas.lecture10.k16_cond_scan as kata
from katas.lecture10.k16_cond_scan import Level
from katas.lecture10.k16_cond_scan import Tracer
from katas.lecture10.k16_cond_scan import cond
from katas.lecture10.k16_cond_scan import lift
from katas.lecture10.k16_cond_scan import scan
from katas.lecture10.k16_cond_scan import trace
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


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
            f"{graph_text(module)}\n\nreturns {actual}; without tracing it is {expected}"
        )
    return module


def test_a_node_of_the_same_graph_needs_no_lifting() -> None:
    """It is returned as it is."""
    graph = fx.Graph()
    node = graph.placeholder("x")

    assert lift(Level(graph), node) is node, "a node of this very graph needs no input"


def test_a_node_from_outside_becomes_an_input() -> None:
    """One input, however often it is asked for, behind the inputs that there are."""
    outer, inner = Level(fx.Graph()), Level(fx.Graph())
    inner.parent = outer
    node, other = outer.graph.placeholder("x"), outer.graph.placeholder("y")
    own = inner.add_input()
    found = lift(inner, other)

    assert found.graph is inner.graph, "a node of the inner graph stands for it there"
    assert [own, found] == inner.inputs
    assert lift(inner, other) is found, "asked again: the same input"
    assert lift(inner, node) is inner.inputs[2]
    assert {other: found, node: inner.inputs[2]} == inner.lifted


def test_a_node_from_far_outside_goes_through_all_graphs() -> None:
    """Each in between has it as an input, and knows it by its parent's node."""
    outer = Level(fx.Graph())
    middle = Level(fx.Graph(), outer)
    inner = Level(fx.Graph(), middle)
    node = outer.graph.placeholder("x")
    found = lift(inner, node)

    assert {node: middle.inputs[0]} == middle.lifted
    assert {middle.inputs[0]: found} == inner.lifted, "an inner graph knows its parent alone"
    assert lift(middle, node) is middle.inputs[0]


def test_a_node_that_is_nowhere_outside_is_refused() -> None:
    """Not in this graph, and in none around it."""
    stray = fx.Graph().placeholder("x")
    with pytest.raises(ValueError, match="used outside"):
        lift(Level(fx.Graph(), Level(fx.Graph())), stray)


def test_a_choice_that_is_known_is_made() -> None:
    """With a tensor, without a tracer: one function is called, the other one is not."""
    calls = []

    def true(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        calls.append("true")
        return x - y

    def false(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        calls.append("false")
        return y - x

    x, y = vector(1, 2), vector(5, 7)
    torch.testing.assert_close(cond(x.sum() > 0, true, false, (x, y)), x - y, rtol=0, atol=0)
    torch.testing.assert_close(cond(x.sum() < 0, true, false, (x, y)), y - x, rtol=0, atol=0)
    torch.testing.assert_close(cond(False, true, false, (x, y)), y - x, rtol=0, atol=0)  # noqa: FBT003 - a plain bool
    assert ["true", "false", "false"] == calls, (
        f"called: {calls}; only the function that is chosen is called"
    )


def test_a_known_choice_is_recorded_in_place() -> None:
    """While tracing too: what decides is whether the choice is known, not what is chosen for."""

    def function(x: Any) -> Any:
        return cond(True, lambda a: a + 1, lambda a: a - 1, (x,))  # noqa: FBT003 - as above

    calls = [str(node.target) for node in check(function, vector(1, 2)).graph.nodes]

    assert 3 == len(calls), f"x, x + 1 and the output; no cond: {calls}"


def test_a_loop_goes_through_the_rows() -> None:
    """Running sums: the carry is the last of them."""

    def step(carry: Any, row: Any, factor: Any) -> tuple[Any, Any]:
        return carry + row * factor, carry * 2 + row

    xs, init, factor = vector(1, 2, 3, 4, 5, 6).reshape(3, 2), vector(10, 20), vector(1, -1)
    pair = scan(step, init, xs, (factor,))
    carry, results = pair

    assert isinstance(pair, tuple), f"scan returns a tuple, not a {type(pair).__name__}"
    torch.testing.assert_close(carry, init + xs.sum(0) * factor, rtol=0, atol=0)
    expected = [init * 2 + xs[0], (init + xs[0] * factor) * 2 + xs[1]]
    torch.testing.assert_close(results[:2], torch.stack(expected), rtol=0, atol=0)
    assert (3, 2) == results.shape


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
    """PyTorch's operators are what is being written here."""
    x = vector(1, 2)

    def function(x: Any) -> Any:
        return fresh.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    with forbids(kata, *READY_MADE) as fresh:
        module = fresh.trace(function)
        chosen = function(x), module(x)
        _, results = fresh.scan(lambda carry, row: (carry + row, row * 1), x.sum() * 0, x)

    assert [fresh.cond] == [node.target for node in find(module, fresh.cond)]
    for found in chosen:
        torch.testing.assert_close(found, x + 1, rtol=0, atol=0)
    torch.testing.assert_close(results, x, rtol=0, atol=0)


def test_one_list_of_operands_serves_both_branches() -> None:
    """What true lifts, in its order, then what only false lifts."""

    def function(x: Any, y: Any, z: Any, w: Any) -> Any:
        return cond(x.sum() > 0, lambda a: a * z + x, lambda a: a * w - z * y, (y,))

    module = check(function, vector(1), vector(2), vector(3), vector(4))
    (node,) = find(module, cond)
    names = [operand.name for operand in node.args[3]]

    assert ["y", "z", "x", "w", "y"] == names, (
        f"{names}: the operand y; z and x for true; w, and the y that false closes over"
    )
    for branch in (module.true_graph_0, module.false_graph_0):
        inputs = [n.target for n in branch.graph.nodes if n.op == "placeholder"]
        assert ["arg_0", "arg_1", "arg_2", "arg_3", "arg_4"] == inputs


def test_what_a_branch_does_stays_in_the_branch() -> None:
    """Also if it does it to a value from outside, alone."""

    def function(x: Any, y: Any) -> Any:
        return cond(x.sum() > 0, lambda: y.exp() + x, lambda: torch.tanh(y), ())

    module = check(function, vector(1, 2), vector(3, 4))
    outside = [str(node.target) for node in module.graph.nodes if node.op.startswith("call")]

    assert 3 == len(outside), f"sum, gt and cond; what else runs in any case: {outside}"
    ran = []
    for name, branch in module.named_children():
        branch.register_forward_hook(lambda *_, name=name: ran.append(name))
    module(vector(-1, 2), vector(3, 4))
    module(vector(-3, 2), vector(3, 4))
    assert ["true_graph_0", "false_graph_0"] == ran, "each call runs one branch"


def test_a_tuple_comes_back_as_a_tuple() -> None:
    """Of proxies, that can be unpacked and have a length."""

    def function(x: Any, y: Any) -> Any:
        pair = cond(x.sum() > 0, lambda a: (a + 1, a * y), lambda a: (y * 1, a - 1), (x,))
        assert isinstance(pair, tuple)
        first, second = pair
        alone = cond(y.sum() > 0, lambda a: (a + 1,), lambda a: (a - 1,), (first,))
        assert isinstance(alone, tuple), f"a tuple of one came back as {type(alone).__name__}"
        (single,) = alone
        return second * 10 + single

    module = check(function, vector(1, 2), vector(3, 4))
    assert "false_graph_1" in dict(module.named_children()), "the second cond's graphs"


def test_a_branch_is_recorded_once() -> None:
    """Twice each would be four times in a cond in a cond, and eight times in the next."""
    calls = []

    def function(x: Any, y: Any) -> Any:
        def note(name: str, result: Any) -> Any:
            calls.append(name)
            return result

        return cond(
            x.sum() > 0,
            lambda: note("true", x * 2),
            lambda: cond(y.sum() > 0, lambda: note("inner", y + x), lambda: note("false", -y), ()),
            (),
        )

    trace(function)

    assert ["true", "inner", "false"] == calls, f"one call of each branch, true first: {calls}"


DISAGREE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a tensor and a tuple of one": (lambda a: a + 1, lambda a: (a + 1,)),
    "two and one": (lambda a: (a + 1, a + 2), lambda a: (a + 1,)),
    "none and a tensor": (lambda a: (), lambda a: a + 1),
}


@pytest.mark.parametrize("name", DISAGREE)
def test_branches_return_the_same_number_of_tensors(name: str) -> None:
    """One node has one structure of results."""
    true, false = DISAGREE[name]
    with pytest.raises(ValueError, match="branches return"):
        trace(lambda x: cond(x.sum() > 0, true, false, (x,)))


def test_a_step_is_recorded_once() -> None:
    """The graph is the same for any number of rows."""
    calls, kinds = [], []

    def function(init: Any, xs: Any, factor: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            calls.append(row)
            carry = carry + row * factor
            return carry, carry * 2

        pair = scan(step, init, xs)
        kinds.append(type(pair))
        return pair[1] + pair[0]

    module = trace(function)
    assert [tuple] == kinds, "scan returns a tuple, of proxy[0] and proxy[1]"
    assert 1 == len(calls), f"step was called {len(calls)} times while tracing"
    for rows in (1, 2, 5):
        inputs = vector(3), torch.arange(float(rows)).reshape(rows, 1), vector(2)
        assert torch.equal(function(*inputs), module(*inputs)), f"{rows} rows"
    assert_expected_inline(
        graph_text(module),
        """\
init = input
xs = input
factor = input
step_graph_0 = self.step_graph_0
scan = scan(step_graph_0, init, xs, (factor,))
getitem = operator.getitem(scan, 0)
getitem_1 = operator.getitem(scan, 1)
add = operator.add(getitem_1, getitem)
return add
step_graph_0:
    arg_0 = input
    arg_1 = input
    arg_2 = input
    mul = operator.mul(arg_1, arg_2)
    add = operator.add(arg_0, mul)
    mul_1 = operator.mul(add, 2)
    return (add, mul_1)""",
    )


def test_a_step_has_operands_too() -> None:
    """They stand between the row and what is lifted."""

    def function(xs: Any, y: Any, z: Any) -> Any:
        def step(carry: Any, row: Any, a: Any, b: Any) -> tuple[Any, Any]:
            return carry * a - b, (row - a) / z

        last, results = scan(step, y, xs, (z, y))
        return last - results

    module = check(function, vector(1, 2, 3, 4).reshape(2, 2), vector(5, 6), vector(7, 8))
    (node,) = find(module, scan)
    assert ["z", "y", "z"] == [operand.name for operand in node.args[3]], (
        "the operands first, then what true lifts, then what only false lifts"
    )


def test_the_first_carry_is_not_the_carry() -> None:
    """A step that closes over `init` means the first one in each step."""

    def function(init: Any, xs: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            return carry * 2 + init, carry + xs.sum(0) * row

        return scan(step, init, xs)[1]

    check(function, vector(1, 2), vector(1, 2, 3, 4, 5, 6).reshape(3, 2))


def test_one_proxy_of_the_two_is_enough() -> None:
    """A loop over a constant that begins with a proxy, and the other way round."""
    constant = vector(1, 2, 3, 4).reshape(2, 2)

    def function(x: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            return carry + row, carry * row

        a, b = scan(step, x[0], constant)
        c, d = scan(step, constant[1], x)
        return torch.cat([a, c, (b - d).flatten()])

    module = check(function, vector(5, 6, 7, 8).reshape(2, 2))
    assert 2 == len(find(module, scan)), "neither loop is unrolled"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_step_returns_a_pair(count: int) -> None:
    """A tensor alone (0), one in a tuple, or three are no carry and result."""

    def step(carry: Any, row: Any) -> Any:
        return carry + row if count == 0 else (carry,) * count

    with pytest.raises(ValueError, match="step returns a pair"):
        trace(lambda init, xs: scan(step, init, xs)[0])
    # The carry has two rows, and could be unpacked.
    with pytest.raises(ValueError, match="step returns a pair"):
        scan(step, vector(1, 2), vector(1, 2, 3, 4).reshape(2, 2))


def test_each_step_returns_a_pair() -> None:
    """The one in the middle too, which returns a tensor of two rows."""
    calls = []

    def step(carry: Any, row: Any) -> Any:
        calls.append(row)
        return carry + row if len(calls) == 2 else (carry + row, row)

    with pytest.raises(ValueError, match="step returns a pair"):
        scan(step, vector(1, 2), vector(1, 2, 3, 4, 5, 6).reshape(3, 2))


def test_gradients_go_through_a_loop() -> None:
    """To the first carry, the rows, and what the step closes over: it is in every step."""

    def function(init: Any, xs: Any, y: Any) -> Any:
        last, results = scan(lambda carry, row: (carry * y + row, carry * row), init, xs)
        return results.sum() + last.sum()

    given = vector(1, 2), vector(1, 2, 3, 4, 5, 6).reshape(3, 2), vector(2, 3)
    inputs = tuple(x.requires_grad_() for x in given)
    module = trace(function)

    assert torch.autograd.gradcheck(module, inputs), "gradients of the graph, by differences"
    expected = torch.autograd.grad(function(*inputs), inputs)
    torch.testing.assert_close(torch.autograd.grad(module(*inputs), inputs), expected)


def test_gradients_go_through_loops_and_choices() -> None:
    """Of a loop in plain Python the same: nothing is detached, copied as data or written to."""
    xs, init = vector(1, 2, 3).requires_grad_(), vector(3)[0].requires_grad_()

    def looped(init: Any, xs: Any) -> Any:
        results = []
        for row in xs:
            init, result = init * row, init + row
            results.append(result)
        return init + torch.stack(results).prod()

    def scanned(init: Any, xs: Any) -> Any:
        carry, results = scan(lambda carry, row: (carry * row, carry + row), init, xs)
        return cond(carry > 0, lambda a, b: a + b, lambda a, b: a - b, (carry, results.prod()))

    expected = torch.autograd.grad(looped(init, xs), (init, xs))
    for name, function in (("without tracing", scanned), ("traced", trace(scanned))):
        with unchanged(init=init, xs=xs):
            found = torch.autograd.grad(function(init, xs), (init, xs))
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, msg=lambda text, name=name: f"{name}: {text}")


def test_graphs_nest() -> None:
    """A loop in a branch in a loop: what is far outside is an input of each graph on the way."""

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
    ] == sorted(names)
    for name in names:
        own = [
            node.target
            for node in module.get_submodule(name).graph.nodes
            if node.op == "get_attr" and "graph" not in node.target
        ]
        assert [] == own, f"{name} reads {own} itself; whatever it needs is an input"


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
    """Of both branches, each parameter once; the outermost graph reads it, also once."""
    model = Gated()
    module = trace(model)
    reads = [node.target for node in module.graph.nodes if node.op == "get_attr"]
    (node,) = find(module, cond)
    names = [operand.target for operand in node.args[3][1:]]

    assert sorted(reads[:3]) == ["layer.bias", "layer.weight", "scale"], reads
    assert ["layer.weight", "layer.bias", "scale"] == names
    assert module.scale is model.scale, "the graph uses the model's own parameter, no copy"
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
    """``add_`` in any of them; the function around them is none of our business."""

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
    """By any method, to any value; a name that has an underscore inside is no write."""
    method, write = WRITES[what]
    refused = []

    def function(x: Any, y: Any) -> Any:
        with pytest.raises(ValueError, match=f"must not write: {method}"):
            cond(x.sum() > 0, lambda a: write(a, y), lambda a: a - 1, (x,))
        refused.append(what)
        return cond(x.sum() > 0, lambda: x.log_softmax(0), lambda: x - 1, ())

    module = trace(function)
    x = vector(1, 2)

    assert [what] == refused
    assert torch.equal(x.log_softmax(0), module(x, x)), (
        f"who catches the error goes on recording outside:\n\n{graph_text(module)}"
    )


def test_an_error_does_not_leave_the_tracer_inside() -> None:
    """Who catches it goes on recording outside."""

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
    """What a branch that has ended has made cannot be returned by the next one."""
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
    """Used or not, in the order in which it is given, behind the function's own inputs."""
    tracer = Tracer()
    tracer.trace(lambda x, y: x + y)
    x, y, total = list(tracer.graph.nodes)[:3]
    level = tracer.record(lambda a: a * tracer.proxy(x), 1, (total, y))

    assert [total, y, x] == list(level.lifted), "the known ones, then what the function needs"
    assert level.parent is tracer.level, "the level is what it was before"
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
    """Then it is an input of each graph on the way, like anything that is lifted."""
    tracer = Tracer()
    tracer.trace(lambda x: x + 1)
    (x, *_) = tracer.graph.nodes
    levels = []

    def outer(a: Any) -> Any:
        levels.append(tracer.record(lambda b: b * 2, 1, (x,)))
        return a + 1

    middle, (inner,) = tracer.record(outer, 1), levels

    assert {x: middle.inputs[1]} == middle.lifted, "x is an input of the graph in between"
    assert {middle.inputs[1]: inner.inputs[1]} == inner.lifted, "which is what the inner one gets"


OPS: tuple[Callable[..., Any], ...] = (torch.sub, torch.mul, torch.maximum)
BODIES = st.recursive(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9)), max_size=3),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["cond", "scan"]), st.integers(0, 9), inner, inner), max_size=2
    ),
    max_leaves=6,
)


def run(body: list[Any], values: list[Any], choose: Any, loop: Any) -> Any:
    """Run a drawn program, in which any function sees all values around it."""
    values = [*values]
    for what, first, *rest in body:
        x = values[first % len(values)]
        if what == "cond":
            branches = [
                lambda a, inner=inner, seen=values: run(inner, [*seen, a], choose, loop) + 0.5
                for inner in rest
            ]
            values.append(choose(x.sum() > 0, *branches, (values[-1],)))
        elif what == "scan":
            rows = torch.stack([x, values[-1], x * 2])

            def step(carry: Any, row: Any, inner: Any = rest[0], seen: Any = values) -> Any:
                return run(inner, [*seen, carry, row], choose, loop) * 0.5, carry - row

            carry, results = loop(step, x, rows)
            values += [results.sum(0), carry]
        else:
            values.append(OPS[what](x, values[rest[0] % len(values)]).clamp(-3, 3))
    return values[-1]


def plain_cond(pred: Any, true: Any, false: Any, operands: Any) -> Any:
    """Return what Python's ``if`` chooses."""
    return true(*operands) if pred else false(*operands)


def plain_scan(step: Any, init: Any, xs: Any) -> Any:
    """Return what Python's ``for`` computes."""
    results = []
    for row in xs:
        init, result = step(init, row)
        results.append(result)
    return init, torch.stack(results)


@given(body=BODIES, seed=st.integers(0, 99))
def test_any_program(body: list[Any], seed: int) -> None:
    """Nested branches and loops, against Python's own."""
    module = trace(lambda x, y: run(body, [x, y], cond, scan))
    generator = torch.Generator().manual_seed(seed)
    for _ in range(3):
        x, y = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        expected = run(body, [x, y], plain_cond, plain_scan)

        assert torch.equal(expected, module(x, y)), graph_text(module)


def test_an_lstm_is_a_scan(zoo: Callable[[str], Case]) -> None:
    """One layer after the other, each a loop over time whose step closes over the weights."""
    model, (x,) = zoo("lstm")
    weights = dict(model.named_parameters())

    class Lstm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = model

        def forward(self, x: Any) -> Any:
            rows = x.transpose(0, 1)
            for layer in range(2):
                w, u, b, c = (
                    getattr(self.lstm, f"{name}_l{layer}")
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                )

                def step(carry: Any, row: Any, w: Any = w, u: Any = u, b: Any = b + c) -> Any:
                    hidden, cell = carry[0], carry[1]
                    gates = row @ w.t() + hidden @ u.t() + b
                    i, f, g, o = (gates[:, 8 * n : 8 * n + 8] for n in range(4))
                    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
                    hidden = o.sigmoid() * cell.tanh()
                    return torch.stack([hidden, cell]), hidden * 1

                zeros = rows[:2, :, :1].expand(2, 2, 8) * 0
                rows = scan(step, zeros, rows)[1]
            return rows.transpose(0, 1)

    module = trace(Lstm())
    torch.testing.assert_close(module(x), model(x)[0])
    torch.testing.assert_close(module(x[:, :2]), model(x[:, :2])[0])

    assert {weight.data_ptr() for weight in weights.values()} == {
        weight.data_ptr() for weight in module.parameters()
    }
    assert 2 == len(find(module, scan)), "two layers, whatever the length"


def test_pytorch_can_run_the_node() -> None:
    """Its own operator takes the same graphs and operands, and chooses as the traced one does."""

    def function(x: Any, y: Any) -> Any:
        return cond(x.sum() > 0, lambda a: (a * y, a + y), lambda a: (a - x, a * x), (y,))[1]

    module = check(function, vector(1, 2), vector(3, 4))
    (node,) = find(module, cond)
    # The operator under torch.cond, which gets its graphs from Dynamo.
    node.target = torch.ops.higher_order.cond
    module.recompile()

    for x in (vector(1, 2), vector(-1, -2)):
        torch.testing.assert_close(
            module(x, vector(3, 4)), function(x, vector(3, 4)), rtol=0, atol=0
        )
