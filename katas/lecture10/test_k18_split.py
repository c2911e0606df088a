"""Tests of k18_split: what stages receive, send and hold."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import torch
import torch.fx.passes.split_module
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn

from katas.lecture10 import k18_split as kata
from katas.lecture10.k18_split import split
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


def calls(module: fx.GraphModule) -> list[fx.Node]:
    """Return the nodes that stages are made of."""
    return [node for node in module.graph.nodes if node.op.startswith("call_")]


def find(module: fx.GraphModule, name: str) -> fx.Node:
    """Return a node by its name."""
    return next(node for node in module.graph.nodes if node.name == name)


def numbers(*values: int) -> Callable[[fx.Node], int]:
    """Return a function from the calls of a graph, in order, to numbers; all else costs 1."""

    def number(node: fx.Node) -> int:
        assert node.op in ("call_function", "call_method", "call_module", "placeholder"), (
            f"your code asks about a {node.op}, which neither runs nor is sent"
        )
        order = [other for other in node.graph.nodes if other.op.startswith("call_")]
        place = order.index(node) if node in order else -1
        return values[place] if 0 <= place < len(values) else 1

    return number


def one(node: fx.Node) -> int:
    """Everything costs 1."""
    return numbers()(node)


def chain(length: int) -> fx.GraphModule:
    """Return a graph in which each call takes the value of the one before."""
    graph = fx.Graph()
    value = graph.placeholder("x")
    for _ in range(length):
        value = graph.call_function(operator.add, (value, 1))
    graph.output(value)
    return fx.GraphModule({}, graph)


class Skip(nn.Module):
    """Two paths from one value, and a parameter that two calls use."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """Return a dict with a list in it."""
        first = torch.mul(x, self.scale)
        second = self.linear(first).relu()
        third = torch.add(input=second, other=first, alpha=2)
        return {"sum": third * self.scale, "all": [first, y, (third, 1)]}


FUNCTIONS = (torch.add, torch.mul, torch.sub, torch.maximum)


PROGRAMS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8
)


def drawn(program: list[tuple[int, int, int]]) -> fx.GraphModule:
    """Return a graph of functions, methods, modules and parameters that take any earlier values."""
    root = nn.Module()
    root.weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    root.relu = nn.ReLU()
    graph = fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    for what, first, second in program:
        a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
        if what < 4:
            values.append(graph.call_function(FUNCTIONS[what], (a,), {"other": b}))
        elif what == 4:
            values.append(graph.call_method("neg", (a,)))
        elif what == 5:
            values.append(graph.call_module("relu", (a,)))
        else:
            weight = graph.get_attr("weight")
            values.append(graph.call_function(torch.mul, (weight, a)))
    graph.output((values[-1], [values[len(values) // 2]]))
    return fx.GraphModule(root, graph)


def test_two_stages_of_a_chain() -> None:
    """The smallest module: one value in, one value out."""
    module = chain(3)
    order = calls(module)
    result = split(module, [order[:1], order[1:]])

    assert 8 == result(5), f"you return {result(5)}, expected 8: three additions of 1 to 5"
    assert_expected_inline(
        graph_text(result),
        """\
x = input
stage_0 = self.stage_0(x)
stage_1 = self.stage_1(stage_0)
return stage_1""",
    )
    assert_expected_inline(
        graph_text(result.stage_1),
        """\
add = input
add_1 = operator.add(add, 1)
add_2 = operator.add(add_1, 1)
return add_2""",
    )


def test_a_skip_connection_goes_straight_to_its_stage() -> None:
    """A skip connection bypasses a stage; a parameter is in each stage that uses it."""
    module = fx.symbolic_trace(Skip())
    mul, linear, relu, add, last = calls(module)
    result = split(module, [[mul, linear], [relu], [add, last]])

    assert_expected_inline(
        graph_text(result),
        """\
x = input
y = input
stage_0 = self.stage_0(x)
getitem = operator.getitem(stage_0, 0)
getitem_1 = operator.getitem(stage_0, 1)
stage_1 = self.stage_1(getitem_1)
stage_2 = self.stage_2(getitem, stage_1)
getitem_2 = operator.getitem(stage_2, 0)
getitem_3 = operator.getitem(stage_2, 1)
return {'sum': getitem_3, 'all': [getitem, y, (getitem_2, 1)]}""",
    )
    assert_expected_inline(
        graph_text(result.stage_2),
        """\
mul = input
relu = input
scale = self.scale
add = add(alpha=2, input=relu, other=mul)
mul_1 = operator.mul(add, scale)
return (add, mul_1)""",
    )
    x, y = torch.randn(4, 2), torch.randn(3)
    expected, actual = module(x, y), result(x, y)
    torch.testing.assert_close(actual["sum"], expected["sum"])
    torch.testing.assert_close(actual["all"][2][0], expected["all"][2][0])
    assert actual["all"][1] is y, "return the input y itself, not a copy"
    assert 1 == actual["all"][2][1], (
        f"the number among the results is {actual['all'][2][1]}, expected 1: return whatever is "
        f"not a node as it is"
    )


def test_a_parameter_stands_where_the_module_reads_it() -> None:
    """A parameter keeps its place in the graph, whether it is the module's own or nested deeper."""

    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x) * self.norm.weight + self.norm.running_var

    module = fx.symbolic_trace(Late())
    result = split(module, [calls(module)])
    ops = [node.op for node in result.stage_0.graph.nodes]
    expected = [node.op for node in module.graph.nodes]

    assert expected == ops, f"your stage has {ops}, expected {expected}, as in the module"
    x = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(result(x), module(x), msg="a parameter and a buffer of a layer")


def test_a_stage_that_nobody_needs_returns_nothing() -> None:
    """The stage computes a value without a user, such as that of a print."""
    graph = fx.Graph()
    x = graph.placeholder("x", default_value=2)
    a = graph.call_function(operator.add, (x, 1))
    unused = graph.call_function(operator.mul, (a, 2))
    b = graph.call_function(operator.add, (a, 3))
    graph.output((b, b, x))
    result = split(fx.GraphModule({}, graph), [[a], [unused], [b]])

    assert (6, 6, 2) == result(), "keep the default of a placeholder"
    assert () == result.stage_1(1), (
        f"stage_1 returns {result.stage_1(1)}, expected (): no other stage and no result "
        "needs its value"
    )


def test_stages_share_what_the_module_holds() -> None:
    """Stages hold the same parameters, each where it is used, and no copies."""
    model = Skip()
    module = fx.symbolic_trace(model)
    mul, linear, relu, add, last = calls(module)
    result = split(module, [[mul], [linear], [relu, add, last]])
    parts = [result.get_submodule(f"stage_{number}") for number in range(3)]
    held = [{name for name, _ in part.named_parameters()} for part in parts]

    assert [{"scale"}, {"linear.weight", "linear.bias"}, {"scale"}] == held, (
        "a stage should hold only what its own calls use"
    )
    assert result.stage_0.scale is model.scale, (
        "stage_0 must hold the parameter itself, not a copy, so that training reaches it"
    )
    assert result.stage_2.scale is model.scale, (
        "stage_2 uses the parameter as well: the same object, not a copy"
    )
    assert result.stage_1.linear is model.linear, (
        "stage_1 must call the submodule itself, not a copy"
    )


def test_a_stage_holds_its_part_of_a_sequential() -> None:
    """A path has dots: only the layer at its end is used, not the whole module at its start."""
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), nn.ReLU())
    module = fx.symbolic_trace(model)
    first, second, relu = calls(module)
    result = split(module, [[first], [second, relu]])
    held = [{name for name, _ in part.named_parameters()} for part in result.children()]

    assert [{"0.0.weight", "0.0.bias"}, {"0.1.weight", "0.1.bias"}] == held, (
        "a stage should hold only what its own calls use"
    )


def test_an_input_may_have_two_names() -> None:
    """Callers use the placeholder's target; the graph uses node.name."""
    graph = fx.Graph()
    x = graph.placeholder("input")  # the node is input_1: Python has a function input
    order = [graph.call_function(operator.add, (x, 1))]
    order.append(graph.call_function(operator.mul, (order[0], x)))
    graph.output(order[1])
    result = split(fx.GraphModule({}, graph), [order[:1], order[1:]])
    main, second = (
        [node.target for node in graph.find_nodes(op="placeholder")]
        for graph in (result.graph, result.stage_1.graph)
    )

    assert ["input"] == main, f"the main module takes {main}, expected ['input'], as in `module`"
    assert ["input_1", "add"] == second, (
        f"stage_1 takes {second}, expected ['input_1', 'add']: name placeholders like the nodes"
    )
    assert 12 == result(input=3), (
        f"you return {result(input=3)}, expected 12: (3 + 1) * 3, called by the input's name"
    )


def test_the_module_stays_as_it_is() -> None:
    """The given module keeps its graph, and what it computes."""
    module = fx.symbolic_trace(Skip())
    before, code = graph_text(module), module.code
    order = calls(module)
    metas, modes = (
        [dict(n.meta) for n in module.graph.nodes],
        [m.training for m in module.modules()],
    )
    with unchanged(module=module):
        split(module, halves(module, 2))

    assert before == graph_text(module), (
        "the graph of `module` was changed: split must make new graphs"
    )
    assert metas == [node.meta for node in module.graph.nodes], "do not change the nodes' meta"
    assert modes == [each.training for each in module.modules()], (
        "do not change whether modules are in train or eval mode"
    )
    assert code == module.code, (
        "you changed the code of `module`: build a separate graph for each stage instead"
    )
    assert order == calls(module), (
        "the calls of `module` were replaced or moved: copy nodes into the new graphs"
    )


def test_the_modes_stay_as_they_are() -> None:
    """Stages share the submodules: a mode that is set in a stage is set in the model too."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.BatchNorm1d(2), nn.Dropout())
    for modes in ((True, False, False, True), (False, False, False, False)):
        for child, mode in zip(model, modes, strict=True):
            child.train(mode)
        module = fx.symbolic_trace(model)
        split(module, halves(module, 2))
        got = tuple(child.training for child in model)

        assert modes == got, f"training was {modes} before the split and is {got} after it"


def shape(module: fx.GraphModule, name: str) -> tuple[int, int]:
    """Return how many values a submodule takes and returns."""
    nodes = list(module.get_submodule(name).graph.nodes)
    result = nodes[-1].args[0]
    return (
        sum(node.op == "placeholder" for node in nodes),
        len(result) if isinstance(result, tuple) else 1,
    )


def compare(module: fx.GraphModule, stages: list[list[fx.Node]], inputs: tuple[Any, ...]) -> None:
    """Compare what split makes with the module, and with what PyTorch's split_module makes."""
    where = {node: number for number, stage in enumerate(stages) for node in stage}
    theirs = torch.fx.passes.split_module.split_module(
        module, module, lambda node: where.get(node, 0), keep_original_order=True
    )
    ours = split(module, stages)
    for number, stage in enumerate(stages):
        part = ours.get_submodule(f"stage_{number}")
        inside = calls(part)
        assert [node.target for node in stage] == [node.target for node in inside], (
            f"stage {number} runs different calls from those it was given"
        )
        if any(node.op == "get_attr" for node in part.graph.nodes):
            continue  # PyTorch sends a parameter that several stages use from one to the others
        expected, actual = shape(theirs, f"submod_{number}"), shape(ours, f"stage_{number}")
        assert expected[0] == actual[0], (
            f"stage {number} takes {actual[0]} values, expected {expected[0]}"
        )
        assert expected[1] == actual[1], (
            f"stage {number} returns {actual[1]} values, expected {expected[1]}"
        )
    for want, got in zip(flat(module(*inputs)), flat(ours(*inputs)), strict=True):
        torch.testing.assert_close(got, want)


def flat(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a nest of lists and tuples."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)]


@given(program=PROGRAMS, data=st.data())
def test_any_graph_in_any_stages(program: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """The same values, and as many are sent as by PyTorch's split_module."""
    module = drawn(program)
    order = calls(module)
    inner = st.integers(1, len(order) - 1) if len(order) > 1 else st.nothing()
    cuts = sorted(data.draw(st.sets(inner)))
    stages = [order[start:stop] for start, stop in pairwise((0, *cuts, len(order)))]

    compare(module, stages, (torch.tensor([1.5, -2.5]), torch.tensor([0.5, 3.0])))


def test_models_in_stages(zoo: Callable[[str], Case]) -> None:
    """A ResNet in three parts computes the same as before."""
    model, inputs = zoo("resnet")
    module = fx.symbolic_trace(model)

    compare(module, halves(module, 3), inputs)


def test_the_skips_of_a_unet_pass_over_its_bottom(zoo: Callable[[str], Case]) -> None:
    """Skip connections lead up: two values leave the first stage besides the pooled one."""
    model, inputs = zoo("unet")
    module = fx.symbolic_trace(model)
    order = calls(module)
    first = order.index(find(module, "bottom_0"))
    second = order.index(find(module, "up2"))
    result = split(module, [order[:first], order[first:second], order[second:]])

    assert (1, 3) == shape(result, "stage_0"), (
        "stage_0 should take the image, and return the pooled value and two skip connections"
    )
    assert (1, 1) == shape(result, "stage_1"), (
        "stage_1, the bottom, should take only the pooled value and return one value"
    )
    assert (3, 1) == shape(result, "stage_2"), (
        f"stage_2 takes and returns {shape(result, 'stage_2')} values, expected (3, 1): the "
        f"bottom's value, and two skip connections"
    )
    torch.testing.assert_close(result(*inputs), model(*inputs))


READY_MADE = (
    "torch.fx.passes",
    "torch.fx.passes.split_module",
    "torch.fx.passes.split_utils",
    "torch.fx.passes.splitter_base",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's splitters may not be called: you are writing them."""
    module = chain(4)
    with forbids(kata, *READY_MADE) as fresh:
        found = fresh.split(module, halves(module, 2))

    torch.testing.assert_close(found(torch.ones(3)), module(torch.ones(3)))


def halves(module: fx.GraphModule, count: int) -> list[list[fx.Node]]:
    """Return the calls of a graph in a given number of stages of about equal length."""
    found = calls(module)
    ends = [len(found) * place // count for place in range(count + 1)]
    return [found[start:stop] for start, stop in pairwise(ends)]
