"""Tests of k07_split: what a stage costs, where to cut, and the modules that come of it."""

from __future__ import annotations

import operator
from itertools import combinations
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.fx.passes.split_module
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx.passes.shape_prop import ShapeProp

from katas.lecture10 import k07_split as kata
from katas.lecture10.k07_split import partition
from katas.lecture10.k07_split import split
from katas.lecture10.k07_split import stage_cost
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
            f"asked about a {node.op}: it neither runs nor is it sent"
        )
        order = [other for other in node.graph.nodes if other.op.startswith("call_")]
        place = order.index(node) if node in order else -1
        return values[place] if 0 <= place < len(values) else 1

    return number


def one(node: fx.Node) -> int:
    """Everything costs 1."""
    return numbers()(node)


def chain(length: int) -> fx.GraphModule:
    """Return a graph in which each call takes the last value."""
    graph = fx.Graph()
    value = graph.placeholder("x")
    for _ in range(length):
        value = graph.call_function(operator.add, (value, 1))
    graph.output(value)
    return fx.GraphModule({}, graph)


class Skip(nn.Module):
    """Two ways from one value, and a parameter that two calls use."""

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


def test_a_stage_costs_what_its_calls_cost_and_what_it_receives() -> None:
    """In a chain that is one value, for the first stage the graph's input."""
    order = calls(chain(4))
    cost, size = numbers(1, 20, 300, 4000), numbers(5, 60, 700, 8000)

    assert 1 + 20 + 1 == stage_cost(order[:2], cost, size), "two calls, and the input x"
    assert 300 + 4000 + 60 == stage_cost(order[2:], cost, size), "it receives the second value"
    assert 20 + 5 == stage_cost(order[1:2], cost, size)


def test_a_value_that_is_taken_twice_is_sent_once() -> None:
    """By two calls of the stage, or twice by one."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.add, (x, 1))
    b = graph.call_function(operator.mul, (a, a))
    c = graph.call_function(operator.mul, (a, b))
    graph.output(c)

    assert 2 + 50 == stage_cost([b, c], one, numbers(50)), "a is sent once, for b and c"


def test_arguments_are_found_in_lists_and_keywords() -> None:
    """``cat`` takes a list, and other calls take a value by name."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.add, (x, 1))
    b = graph.call_function(torch.cat, ([x, (a)], 0))
    c = graph.call_function(torch.add, (b,), {"other": a})
    graph.output(c)

    assert 1 + 1 + 10 == stage_cost([b], one, numbers(10, 100))
    assert 1 + 10 + 100 == stage_cost([c], one, numbers(10, 100))


def test_a_skip_connection_costs_where_it_ends() -> None:
    """The stages that it passes over do not receive it; nor does a parameter travel."""
    module = fx.symbolic_trace(Skip())
    mul, linear, relu, add, last = calls(module)
    size = numbers(10, 200, 3000, 40000)

    assert 1 + 1 == stage_cost([mul], one, size), "x is received; the parameter is there"
    assert 2 + 10 == stage_cost([linear, relu], one, size)
    assert 2 + 3000 + 10 == stage_cost([add, last], one, size), "from before, and over the skip"


def check_stages(module: fx.GraphModule, stages: list[list[fx.Node]], count: int) -> None:
    """Assert that stages hold every call once, in order."""
    names = [[node.name for node in stage] for stage in stages]
    assert count == len(stages), f"{count} stages were asked for: {names}"
    assert all(stages), f"a stage without calls: {names}"
    assert calls(module) == [node for stage in stages for node in stage], (
        f"all calls, each once, in the order of the graph: {names}"
    )


def least(module: fx.GraphModule, count: int, cost: Any, size: Any) -> int:
    """Return the smallest largest cost, by trying all cuts."""
    order = calls(module)
    found = []
    for middle in combinations(range(1, len(order)), count - 1):
        cuts = pairwise((0, *middle, len(order)))
        found.append(max(stage_cost(order[start:stop], cost, size) for start, stop in cuts))
    return min(found)


def check_best(module: fx.GraphModule, count: int, cost: Any, size: Any) -> None:
    """Assert that a partition is one, and as good as the best of all."""
    stages = partition(module, count, cost, size)
    check_stages(module, stages, count)
    names = [[node.name for node in stage] for stage in stages]
    costs = [stage_cost(stage, cost, size) for stage in stages]
    expected = least(module, count, cost, size)

    assert expected == max(costs), f"{names} cost {costs}; the largest can be {expected}"


def test_equal_calls_are_divided_equally() -> None:
    """Six calls in three stages: two each."""
    module = chain(6)
    stages = partition(module, 3, one, one)

    check_stages(module, stages, 3)
    assert [2, 2, 2] == [len(stage) for stage in stages]


def test_an_expensive_call_stands_alone() -> None:
    """Costs are balanced, not numbers of calls."""
    stages = partition(chain(6), 3, numbers(1, 1, 1, 50, 1, 1), numbers())

    assert [3, 1, 2] == [len(stage) for stage in stages]


def test_a_cut_avoids_a_large_value() -> None:
    """The middle would balance the calls, but what crosses it is large."""
    stages = partition(chain(4), 2, numbers(10, 10, 10, 10), numbers(1, 100, 1))

    found = [len(stage) for stage in stages]
    assert found in ([1, 3], [3, 1]), f"{found}: the second value costs 100 to send"


def test_a_longer_stage_can_be_a_cheaper_one() -> None:
    """Filling stages up to a limit misses the best cut."""
    # Limit 20: the first stage could take two calls (10 + 5 + 1), but leaves 100 to be sent.
    check_best(chain(4), 2, numbers(10, 5, 6, 4), numbers(1, 100, 1))
    check_best(chain(5), 3, numbers(3, 3, 3, 3, 3), numbers(2, 9, 9, 2))


def test_what_costs_nothing_can_be_best() -> None:
    """Calls that are free, and one value that is not: a cut behind it costs 0."""
    check_best(chain(3), 2, lambda node: 0, lambda node: int(node.name == "add"))


@pytest.mark.parametrize("count", [0, -1, 4])
def test_a_number_of_stages_that_cannot_be(count: int) -> None:
    """No stage is empty."""
    with pytest.raises(ValueError, match="cannot make"):
        partition(chain(3), count, one, one)


def test_one_stage_for_each_call() -> None:
    """The most that can be; and one stage holds all."""
    assert [1, 1, 1] == [len(stage) for stage in partition(chain(3), 3, one, one)]
    assert [3] == [len(stage) for stage in partition(chain(3), 1, one, one)]


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


@given(program=PROGRAMS, data=st.data())
def test_no_cut_is_better(program: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Against all cuts of any small graph, with any costs."""
    module = drawn(program)
    total = len(program)
    amounts = st.lists(st.integers(0, 12), min_size=total, max_size=total)
    count = data.draw(st.integers(1, total))

    check_best(module, count, numbers(*data.draw(amounts)), numbers(*data.draw(amounts)))


def test_sixty_calls_are_not_too_many() -> None:
    """Without traffic, costs 1 to 6 again and again, in ten stages of 21."""
    module = chain(60)
    costs = dict(zip(calls(module), [1, 2, 3, 4, 5, 6] * 10, strict=True))
    stages = partition(module, 10, costs.__getitem__, lambda node: 0)

    check_stages(module, stages, 10)
    assert 21 == max(sum(map(costs.__getitem__, stage)) for stage in stages)


def test_two_stages_of_a_chain() -> None:
    """The smallest module: one value in, one value out."""
    module = chain(3)
    order = calls(module)
    result = split(module, [order[:1], order[1:]])

    assert 8 == result(5)
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
    """Past the stage in between; a parameter is in both stages that use it."""
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
    assert actual["all"][1] is y
    assert 1 == actual["all"][2][1]


def test_a_parameter_stands_where_the_module_reads_it() -> None:
    """Behind the calls that came before it, whether it is the module's or lies deeper."""

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

    assert expected == ops, f"yours has {ops}; expected, as in the module: {expected}"
    x = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(result(x), module(x), msg="a parameter and a buffer of a layer")


def test_a_stage_that_nobody_needs_returns_nothing() -> None:
    """A value without a user, such as that of a print."""
    graph = fx.Graph()
    x = graph.placeholder("x", default_value=2)
    a = graph.call_function(operator.add, (x, 1))
    unused = graph.call_function(operator.mul, (a, 2))
    b = graph.call_function(operator.add, (a, 3))
    graph.output((b, b, x))
    result = split(fx.GraphModule({}, graph), [[a], [unused], [b]])

    assert (6, 6, 2) == result(), "the default of a placeholder is kept"
    assert () == result.stage_1(1)


def test_stages_share_what_the_module_holds() -> None:
    """The same parameters, each where it is used, and no copies."""
    model = Skip()
    module = fx.symbolic_trace(model)
    mul, linear, relu, add, last = calls(module)
    result = split(module, [[mul], [linear], [relu, add, last]])
    parts = [result.get_submodule(f"stage_{number}") for number in range(3)]
    held = [{name for name, _ in part.named_parameters()} for part in parts]

    assert [{"scale"}, {"linear.weight", "linear.bias"}, {"scale"}] == held, (
        "a stage holds what its own calls use"
    )
    assert result.stage_0.scale is model.scale, "the parameter itself, so that training reaches it"
    assert result.stage_2.scale is model.scale
    assert result.stage_1.linear is model.linear


def test_a_stage_holds_its_part_of_a_sequential() -> None:
    """A path has dots: the layer at its end is used, not all that stands at its beginning."""
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), nn.ReLU())
    module = fx.symbolic_trace(model)
    first, second, relu = calls(module)
    result = split(module, [[first], [second, relu]])
    held = [{name for name, _ in part.named_parameters()} for part in result.children()]

    assert [{"0.0.weight", "0.0.bias"}, {"0.1.weight", "0.1.bias"}] == held, (
        "a stage holds what its own calls use"
    )


def test_an_input_may_have_two_names() -> None:
    """Python's is the target of a placeholder, by which it is called; the graph's is node.name."""
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

    assert ["input"] == main, f"the whole takes {main}: the names of `module` itself"
    assert ["input_1", "add"] == second, f"stage_1 takes {second}: named like the nodes"
    assert 12 == result(input=3)


def test_the_module_stays_as_it_is() -> None:
    """Its graph, and what it computes."""
    module = fx.symbolic_trace(Skip())
    before, code = graph_text(module), module.code
    order = calls(module)
    metas, modes = (
        [dict(n.meta) for n in module.graph.nodes],
        [m.training for m in module.modules()],
    )
    with unchanged(module=module):
        split(module, partition(module, 2, one, one))

    assert before == graph_text(module), "split makes new graphs"
    assert metas == [node.meta for node in module.graph.nodes], "the nodes' meta is not yours"
    assert modes == [each.training for each in module.modules()], "train and eval are not yours"
    assert code == module.code
    assert order == calls(module)


def test_the_modes_stay_as_they_are() -> None:
    """Stages share the submodules: a mode that is set in a stage is set in the model too."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.BatchNorm1d(2), nn.Dropout())
    for modes in ((True, False, False, True), (False, False, False, False)):
        for child, mode in zip(model, modes, strict=True):
            child.train(mode)
        module = fx.symbolic_trace(model)
        split(module, partition(module, 2, one, one))
        got = tuple(child.training for child in model)

        assert modes == got, f"training was {modes}, and is {got} after the split"


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
            f"stage {number} runs other calls than it was given"
        )
        if any(node.op == "get_attr" for node in part.graph.nodes):
            continue  # PyTorch sends a parameter that several stages use from one to the others
        expected, actual = shape(theirs, f"submod_{number}"), shape(ours, f"stage_{number}")
        assert expected[0] == actual[0], f"stage {number} takes {actual[0]}, not {expected[0]}"
        assert expected[1] == actual[1], f"stage {number} returns {actual[1]}, not {expected[1]}"
    for want, got in zip(flat(module(*inputs)), flat(ours(*inputs)), strict=True):
        torch.testing.assert_close(got, want)


def flat(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a nest of lists and tuples."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in flat(item)]


@given(program=PROGRAMS, data=st.data())
def test_any_graph_in_any_stages(program: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """The same values, and as many of them sent as by PyTorch's split_module."""
    module = drawn(program)
    order = calls(module)
    inner = st.integers(1, len(order) - 1) if len(order) > 1 else st.nothing()
    cuts = sorted(data.draw(st.sets(inner)))
    stages = [order[start:stop] for start, stop in pairwise((0, *cuts, len(order)))]

    compare(module, stages, (torch.tensor([1.5, -2.5]), torch.tensor([0.5, 3.0])))


def flops(node: fx.Node) -> int:
    """Return what a call of a model costs: multiplications of a layer, else elements."""
    out = node.meta["tensor_meta"].shape.numel()
    if node.op == "call_module":
        weight = getattr(node.graph.owning_module.get_submodule(node.target), "weight", None)
        if weight is not None and weight.dim() > 1:
            return out * weight[0].numel()
    return out


def size_of(node: fx.Node) -> int:
    """Return the bytes of a value, sent at 16 per multiplication."""
    meta = node.meta["tensor_meta"]
    return meta.shape.numel() * meta.dtype.itemsize * 16


@pytest.mark.parametrize(("name", "count"), [("resnet", 3), ("unet", 3)])
def test_models_in_stages(zoo: Callable[[str], Case], name: str, count: int) -> None:
    """The best cut of a real model, and the model again in that many parts."""
    model, inputs = zoo(name)
    module = fx.symbolic_trace(model)
    with torch.no_grad():
        ShapeProp(module).propagate(*inputs)
        cost = {node: flops(node) for node in calls(module)}.__getitem__
        size = {node: size_of(node) for node in module.graph.nodes if node.op != "output"}
        check_best(module, count, cost, size.__getitem__)
        compare(module, partition(module, count, cost, size.__getitem__), inputs)


def test_the_skips_of_a_unet_pass_over_its_bottom(zoo: Callable[[str], Case]) -> None:
    """What goes down comes back up: two values leave the first stage besides the pooled one."""
    model, inputs = zoo("unet")
    module = fx.symbolic_trace(model)
    order = calls(module)
    first = order.index(find(module, "bottom_0"))
    second = order.index(find(module, "up2"))
    result = split(module, [order[:first], order[first:second], order[second:]])

    assert (1, 3) == shape(result, "stage_0"), "the pooled value, and two ways across"
    assert (1, 1) == shape(result, "stage_1"), "the bottom takes the pooled value alone"
    assert (3, 1) == shape(result, "stage_2")
    torch.testing.assert_close(result(*inputs), model(*inputs))


def test_each_call_runs_once(zoo: Callable[[str], Case]) -> None:
    """In all stages together, in the order of the model."""
    model, inputs = zoo("resnet")
    module = fx.symbolic_trace(model)
    ran: list[str] = []
    for name, part in model.named_modules():
        if not list(part.children()):
            part.register_forward_hook(lambda *_, name=name: ran.append(name))
    module(*inputs)
    expected = [*ran]
    ran.clear()
    split(module, partition(module, 4, one, one))(*inputs)

    assert expected == ran


READY_MADE = (
    "torch.fx.passes",
    "torch.fx.passes.split_module",
    "torch.fx.passes.split_utils",
    "torch.fx.passes.splitter_base",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's splitters are what is being written here."""
    module = chain(4)
    with forbids(kata, *READY_MADE) as fresh:
        result = fresh.split(module, fresh.partition(module, 2, one, one))

    assert 4 == result(0)
