"""The text of graphs: how each node looks, and what the text leaves out."""

from __future__ import annotations

import operator
from importlib.util import find_spec
from textwrap import dedent
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.tools.graphtext import function_name
from plugins.tools.graphtext import graph_text


if TYPE_CHECKING:
    from collections.abc import Callable


if find_spec("torch"):
    import torch

pytestmark = pytest.mark.torch


def text(lines: str) -> str:
    """Return the expected text from a literal that is indented like the test."""
    return dedent(lines).strip("\n")


def test_each_op_has_its_line() -> None:
    """Inputs with and without a default, attributes, functions, methods, modules, the output."""
    owner: Any = torch.nn.Module()
    owner.fc = torch.nn.Linear(2, 2)
    graph = torch.fx.Graph(owner)
    x = graph.placeholder("x")
    scale = graph.placeholder("scale", default_value=2.0)
    weight = graph.get_attr("fc.weight")
    fc = graph.call_module("fc", (x,))
    product = graph.call_function(torch.mul, (fc, scale))
    view = graph.call_method("view", (product, -1))
    graph.output((view, [weight, None]))
    expected = text("""
        x = input
        scale = input(2.0)
        fc_weight = self.fc.weight
        fc = self.fc(x)
        mul = mul(fc, scale)
        view = mul.view(-1)
        return (view, [fc_weight, None])
    """)

    assert expected == graph_text(graph)
    assert expected == graph_text(torch.fx.GraphModule(owner, graph))


def test_names_come_from_what_is_called() -> None:
    """PyTorch numbers a graph's names in its own way; here only a repeated name has a number."""
    graph = torch.fx.Graph()
    x = graph.create_node("placeholder", "x", name="strange")
    first = graph.create_node("call_function", operator.add, (x, 1), name="odd")
    second = graph.create_node("call_function", torch.add, (first, x), name="even")
    third = graph.create_node("call_function", operator.add, (second, x), name="add_77")
    graph.output(third)

    assert text("""
        x = input
        add = operator.add(x, 1)
        add_1 = add(add, x)
        add_2 = operator.add(add_1, x)
        return add_2
    """) == graph_text(graph)


def test_variadic_inputs_have_names() -> None:
    """The stars of ``*args`` belong to the signature, not to the value."""
    graph = torch.fx.Graph()
    graph.placeholder("*args")
    graph.output(graph.placeholder("**kwargs"))

    assert "args = input\nkwargs = input\nreturn kwargs" == graph_text(graph)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((), "()"),
        ((1,), "(1,)"),
        ((1, (2, "a")), "(1, (2, 'a'))"),
        ([1, [2.5, True]], "[1, [2.5, True]]"),
        ({"k": [None]}, "{'k': [None]}"),
        (slice(None, 3, None), "slice(None, 3, None)"),
    ],
)
def test_literals_read_like_python(value: Any, expected: str) -> None:
    """At any depth."""
    graph = torch.fx.Graph()
    graph.output(graph.call_function(operator.getitem, (graph.placeholder("x"), value)))

    assert f"getitem = operator.getitem(x, {expected})" == graph_text(graph).splitlines()[1]


def test_nodes_are_found_inside_of_literals() -> None:
    """In tuples, lists, dicts and slices."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(max, ((x, [x]), {"k": slice(0, x, None)})))

    assert "max = max((x, [x]), {'k': slice(0, x, None)})" == graph_text(graph).splitlines()[1]


def test_keyword_arguments_are_sorted() -> None:
    """The order in which a program writes them makes no difference to the graph."""
    lines = []
    for names in (("a", "b"), ("b", "a")):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_function(max, (x,), dict.fromkeys(names, 1)))
        lines.append(graph_text(graph))

    assert lines[0] == lines[1]
    assert "max = max(x, a=1, b=1)" in lines[0]


def test_a_tensor_among_the_arguments_shows_its_type() -> None:
    """Its values belong to one run, and their format to PyTorch."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.add, (x, torch.ones(2, 3))))

    assert "add = add(x, float32[2, 3])" in graph_text(graph)


def test_a_dtype_and_a_function_show_their_names() -> None:
    """As they are written in Python."""
    graph = torch.fx.Graph()
    arguments: Any = (torch.sin, graph.placeholder("x"))
    graph.output(graph.call_function(map, arguments, {"dtype": torch.float64}))

    assert "map = map(sin, x, dtype=torch.float64)" in graph_text(graph)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: operator.neg, "operator.neg"),
        (lambda: torch.relu, "relu"),
        (lambda: torch.nn.functional.gelu, "gelu"),
        (lambda: torch.ops.aten.mm.default, "aten.mm.default"),
        (lambda: torch.ops.aten.add.Tensor, "aten.add.Tensor"),
        (lambda: torch.ops.higher_order.cond, "cond"),
    ],
)
def test_functions_have_names(function: Callable[[], Any], expected: str) -> None:
    """Overloads with their namespace, Python's operators with their module, others alone."""
    assert expected == function_name(function())


def test_graphs_inside_of_a_graph_stand_below_it() -> None:
    """Indented, under the name by which the outer graph knows them, once each."""

    class Model(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> Any:
            def positive(x: Any) -> Any:
                return x.sin() + 1

            def negative(x: Any) -> Any:
                return x.cos()

            return torch.cond(x.sum() > 0, positive, negative, (x,))

    exported = torch.export.export(Model(), (torch.ones(3),))

    assert text("""
        x = input
        sum = aten.sum.default(x)
        gt = aten.gt.Scalar(sum, 0)
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = cond(gt, true_graph_0, false_graph_0, (x,))
        getitem = operator.getitem(cond, 0)
        return (getitem,)
        true_graph_0:
            x = input
            sin = aten.sin.default(x)
            add = aten.add.Tensor(sin, 1)
            return (add,)
        false_graph_0:
            x = input
            cos = aten.cos.default(x)
            return (cos,)
    """) == graph_text(exported.graph_module)


def test_printing_changes_nothing() -> None:
    """Nor does a missing attribute stop it: an unfinished graph may name one."""
    owner: Any = torch.nn.Module()
    graph = torch.fx.Graph(owner)
    x = graph.create_node("get_attr", "gone.weight")
    graph.output(x)
    names = [node.name for node in graph.nodes]
    owner.__dict__["graph"] = graph

    assert "gone_weight = self.gone.weight\nreturn gone_weight" == graph_text(owner)
    assert names == [node.name for node in graph.nodes]
