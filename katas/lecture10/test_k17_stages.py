"""Tests of k17_stages: what stages cost, and the best way to cut."""

from __future__ import annotations

import operator
from itertools import combinations
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.fx.passes.split_module
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.fx.passes.shape_prop import ShapeProp

from katas.lecture10 import k17_stages as kata
from katas.lecture10.k17_stages import partition
from katas.lecture10.k17_stages import stage_cost
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


def calls(module: fx.GraphModule) -> list[fx.Node]:
    """Return the nodes that stages are made of."""
    return [node for node in module.graph.nodes if node.op.startswith("call_")]


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


def test_a_stage_costs_what_its_calls_cost_and_what_it_receives() -> None:
    """In a chain it receives one value; the first stage receives the graph's input."""
    order = calls(chain(4))
    cost, size = numbers(1, 20, 300, 4000), numbers(5, 60, 700, 8000)

    assert 1 + 20 + 1 == stage_cost(order[:2], cost, size), (
        "expected two calls, 1 and 20, plus 1 for the graph's input x, which is received as well"
    )
    assert 300 + 4000 + 60 == stage_cost(order[2:], cost, size), (
        "expected two calls, 300 and 4000, plus 60 for the second value, which the stage receives"
    )
    assert 20 + 5 == stage_cost(order[1:2], cost, size), (
        "expected one call, 20, plus 5 for the first value, which the stage receives"
    )


def test_a_value_that_is_taken_twice_is_sent_once() -> None:
    """Two calls of the stage may take it, or one call twice."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.add, (x, 1))
    b = graph.call_function(operator.mul, (a, a))
    c = graph.call_function(operator.mul, (a, b))
    graph.output(c)

    assert 2 + 50 == stage_cost([b, c], one, numbers(50)), (
        "expected two calls plus 50 for a: the stage receives it once, though b takes it twice and "
        "c once more"
    )


def test_arguments_are_found_in_lists_and_keywords() -> None:
    """``cat`` takes a list, and other calls take a value by name."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(operator.add, (x, 1))
    b = graph.call_function(torch.cat, ([x, (a)], 0))
    c = graph.call_function(torch.add, (b,), {"other": a})
    graph.output(c)

    assert 1 + 1 + 10 == stage_cost([b], one, numbers(10, 100)), (
        "expected 1 for the call b, plus what its list holds: 1 for x and 10 for a"
    )
    assert 1 + 10 + 100 == stage_cost([c], one, numbers(10, 100)), (
        "expected 1 for the call c, plus what it takes: 10 for a, by keyword, and 100 for b"
    )


def test_a_skip_connection_costs_where_it_ends() -> None:
    """The stages that it skips do not receive it; a parameter is never sent."""
    module = fx.symbolic_trace(Skip())
    mul, linear, relu, add, last = calls(module)
    size = numbers(10, 200, 3000, 40000)

    assert 1 + 1 == stage_cost([mul], one, size), (
        "expected the cost of the call plus 1 for x: a parameter is already on the stage that uses "
        "it, so it is not received"
    )
    assert 2 + 10 == stage_cost([linear, relu], one, size), (
        "expected two calls plus 10 for mul: the skip connection bypasses this stage"
    )
    assert 2 + 3000 + 10 == stage_cost([add, last], one, size), (
        "expected two calls plus what they receive: 3000 for relu, from the stage before, and 10 "
        "for mul, over the skip connection"
    )


def check_stages(module: fx.GraphModule, stages: list[list[fx.Node]], count: int) -> None:
    """Assert that stages hold every call once, in order."""
    names = [[node.name for node in stage] for stage in stages]
    assert count == len(stages), f"expected {count} stages: {names}"
    assert all(stages), f"a stage has no calls: {names}"
    assert calls(module) == [node for stage in stages for node in stage], (
        f"expected all calls, each once, in the order of the graph: {names}"
    )


def least(module: fx.GraphModule, count: int, cost: Any, size: Any) -> int:
    """Return the smallest possible largest cost, by trying all cuts."""
    order = calls(module)
    found = []
    for middle in combinations(range(1, len(order)), count - 1):
        cuts = pairwise((0, *middle, len(order)))
        found.append(max(stage_cost(order[start:stop], cost, size) for start, stop in cuts))
    return min(found)


def check_best(module: fx.GraphModule, count: int, cost: Any, size: Any) -> None:
    """Assert that a partition is valid, and as good as the best one."""
    stages = partition(module, count, cost, size)
    check_stages(module, stages, count)
    names = [[node.name for node in stage] for stage in stages]
    costs = [stage_cost(stage, cost, size) for stage in stages]
    expected = least(module, count, cost, size)

    assert expected == max(costs), (
        f"the stages {names} cost {costs}; the most expensive one need cost only {expected}"
    )


def test_equal_calls_are_divided_equally() -> None:
    """Six calls in three stages: two each."""
    module = chain(6)
    stages = partition(module, 3, one, one)

    check_stages(module, stages, 3)
    assert [2, 2, 2] == [len(stage) for stage in stages], (
        f"your stages have {[len(stage) for stage in stages]} calls, expected [2, 2, 2]: your most "
        f"expensive stage costs {max(stage_cost(stage, one, one) for stage in stages)}, and could "
        f"cost 3"
    )


def test_an_expensive_call_stands_alone() -> None:
    """Costs are balanced, not numbers of calls."""
    stages = partition(chain(6), 3, numbers(1, 1, 1, 50, 1, 1), numbers())

    assert [3, 1, 2] == [len(stage) for stage in stages], (
        f"your stages have {[len(stage) for stage in stages]} calls, expected [3, 1, 2]: any call "
        f"that shares a stage with the call that costs 50 makes the most expensive stage cost more"
    )


def test_a_cut_avoids_a_large_value() -> None:
    """The middle would balance the calls, but what crosses it is large."""
    stages = partition(chain(4), 2, numbers(10, 10, 10, 10), numbers(1, 100, 1))

    found = [len(stage) for stage in stages]
    assert found in ([1, 3], [3, 1]), (
        f"your stages have {found} calls, but the second value costs 100 to send"
    )


def test_a_longer_stage_can_be_a_cheaper_one() -> None:
    """Greedily filling stages up to a limit misses the best cut."""
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
    """No more stages than calls are possible, and a single stage holds all calls."""
    assert [1, 1, 1] == [len(stage) for stage in partition(chain(3), 3, one, one)], (
        "three calls in three stages: expected one each"
    )
    assert [3] == [len(stage) for stage in partition(chain(3), 1, one, one)], (
        "expected one stage with all three calls"
    )


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
    """Sending is free, costs are 1 to 6 again and again, and ten stages of 21 are best."""
    module = chain(60)
    costs = dict(zip(calls(module), [1, 2, 3, 4, 5, 6] * 10, strict=True))
    stages = partition(module, 10, costs.__getitem__, lambda node: 0)

    check_stages(module, stages, 10)
    assert 21 == max(sum(map(costs.__getitem__, stage)) for stage in stages), (
        "your most expensive stage costs "
        f"{max(sum(map(costs.__getitem__, stage)) for stage in stages)}, the best cut's 21"
    )


def flops(node: fx.Node) -> int:
    """Return what a call of a model costs: a layer's multiplications, otherwise elements."""
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
    """The best cut of a real model."""
    model, inputs = zoo(name)
    module = fx.symbolic_trace(model)
    with torch.no_grad():
        ShapeProp(module).propagate(*inputs)
    size = {node: size_of(node) for node in module.graph.nodes if node.op != "output"}

    check_best(module, count, flops, size.__getitem__)


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
        stages = fresh.partition(module, 2, one, one)

    check_stages(module, stages, 2)
