"""Tests of k02_tracer: what is recorded, and what is refused."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch.nn import functional as F

from katas.lecture10 import k02_tracer as kata
from katas.lecture10.k02_tracer import BINARY
from katas.lecture10.k02_tracer import COMPARISONS
from katas.lecture10.k02_tracer import UNARY
from katas.lecture10.k02_tracer import Node
from katas.lecture10.k02_tracer import TraceError
from katas.lecture10.k02_tracer import trace
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


class Reference(fx.Tracer):
    """The tracer of FX."""


def rows(graph: Any) -> list[tuple[Any, ...]]:
    """Return op, target, args and kwargs of each node, with nodes written as their positions."""
    places = {node: f"%{place}" for place, node in enumerate(graph.nodes)}

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return ["list" if isinstance(value, list) else "tuple", *map(plain, value)]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, slice):
            return ["slice", plain(value.start), plain(value.stop), plain(value.step)]
        if isinstance(value, Node | fx.Node):
            return places.get(value, f"a node {value.name} that is not in this graph, or not yet")
        return value

    return [(node.op, node.target, plain(node.args), plain(node.kwargs)) for node in graph.nodes]


def assert_as_in_fx(root: Any) -> Any:
    """Compare the graph of `root` with that of FX, and return it."""
    graph = trace(root)
    expected, actual = rows(Reference().trace(root)), rows(graph)
    for place, (theirs, ours) in enumerate(zip(expected, actual, strict=False)):
        assert theirs == ours, f"node {place}: FX records {theirs}, you record {ours}"
    assert len(expected) == len(actual), (
        f"your graph has {len(actual)} nodes, FX's has {len(expected)}"
    )
    return graph


def refusal(function: Any) -> str:
    """Return the message of the TraceError that tracing `function` raises."""
    try:
        trace(function)
    except TraceError as error:
        return str(error)
    return "no TraceError"


STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: 2 - a,
    lambda a, b: a @ b.T,
    lambda a, b: torch.maximum(a, other=b),
    lambda a, b: a.mul(b).sigmoid(),
    lambda a, b: torch.cat([a, b], 1)[:, : a.shape[1]],
    lambda a, b: a.where(a > b, b),
    lambda a, b: sum([a, b], start=a) / b.shape[0],
]


# To explain a failure, hypothesis would run a program a hundred times or so.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)


PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
    max_size=8,
)


@pytest.mark.step(1, "one operator")
def test_one_operator_is_one_node() -> None:
    """The operator is between a placeholder for the input and the output, and nothing else is."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    expected = [
        ("placeholder", "x", ["tuple"], {}),
        ("call_function", operator.add, ["tuple", "%0", 1], {}),
        ("output", "output", ["tuple", "%1"], {}),
    ]
    graph = trace(function)

    assert expected == rows(graph), "a proxy among the arguments should be stored as its node"
    assert all(isinstance(node, Node) for node in graph.nodes), (
        f"the graph holds {sorted({type(node).__name__ for node in graph.nodes})}, expected only "
        f"nodes of this file's class Node"
    )


@pytest.mark.step(1, "one operator")
def test_defaults_are_arguments_of_placeholders() -> None:
    """None is a default as well."""

    def function(x: torch.Tensor, alpha: float = 2.0, last: None = None) -> Any:
        return x * alpha, last

    assert_as_in_fx(function)
    assert_as_in_fx(lambda: 3)


@pytest.mark.step(2, "all operators")
@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_operators_of_two(name: str) -> None:
    """Python asks the class for ``__add__`` and the like, whether one or both are proxies."""
    function = getattr(operator, name)

    def apply(x: Any, y: Any) -> Any:
        return function(x, y), function(x, 3)

    assert [
        ("call_function", function, ["tuple", "%0", "%1"], {}),
        ("call_function", function, ["tuple", "%0", 3], {}),
    ] == rows(trace(apply))[2:-1], (
        f"you record {rows(trace(apply))[2:-1]} for {name}(x, y) and {name}(x, 3), "
        f"expected one call_function of operator.{name} for each"
    )


@pytest.mark.step(2, "all operators")
@pytest.mark.parametrize("name", BINARY)
def test_reflected_operators_keep_the_order(name: str) -> None:
    """``2 - x`` is not ``x - 2``: int refuses, and Python asks the proxy for ``__rsub__``."""
    function = getattr(operator, name)

    def apply(x: Any) -> Any:
        return function(3, x)

    expected = ("call_function", function, ["tuple", 3, "%0"], {})
    assert expected == rows(trace(apply))[1], "the number should stay on the left"


@pytest.mark.step(2, "all operators")
@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one(name: str) -> None:
    """``-x``, ``+x``, ``~x`` and ``abs(x)``."""
    function = getattr(operator, name)

    def apply(x: Any) -> Any:
        return function(x)

    assert [("call_function", function, ["tuple", "%0"], {})] == rows(trace(apply))[1:-1], (
        f"you record {rows(trace(apply))[1:-1]} for {name}(x), expected one call_function "
        f"of operator.{name}"
    )


@pytest.mark.step(2, "all operators")
def test_in_place_operators_fall_back() -> None:
    """``x += 1`` is ``x = x + 1`` to a class without ``__iadd__``."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y = y * 2
        y += x
        y @= x
        return y

    assert_as_in_fx(function)


@pytest.mark.step(3, "functions of torch")
def test_functions_of_torch() -> None:
    """The proxy may be in a list or a keyword argument; FX and you record the same function."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = torch.cat([x, y], dim=1)
        z = F.relu(z) + torch.relu(torch.clamp(1 + z, max=y))
        z = torch.where(condition=x > 0, input=y, other=z)
        return F.layer_norm(z, (3,)), torch.stack(tensors=(z, z))

    graph = assert_as_in_fx(function)
    assert ("call_function", torch.cat, ["tuple", ["list", "%0", "%1"]], {"dim": 1}) == rows(graph)[
        2
    ], (
        f"you record {rows(graph)[2]} for torch.cat([x, y], dim=1): a list stays a list, "
        "with nodes for proxies, and keywords stay keywords"
    )


@pytest.mark.step(3, "functions of torch")
def test_nodes_hide_in_containers() -> None:
    """Nodes hide in slices, tuples, lists and dicts, and in what is returned."""

    def function(x: torch.Tensor) -> Any:
        rows = x.shape[0]
        y = x[: rows // 2, ..., None] + x[1 : x.shape[1] : 2]
        return {"y": [y, (rows, None)], "x": x, 3: (slice(rows, None), x.T)}

    assert_as_in_fx(function)


@pytest.mark.step(3, "functions of torch")
def test_containers_are_recorded_as_they_were() -> None:
    """The program's list stays the program's: it holds proxies, and may change after the call."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        sizes, pair, names = [2, 3], [x, y], {"rows": 2}
        z = torch.cat(pair).view(sizes).rename(names)
        sizes[0] = names["rows"] = 6
        return z.expand(sizes) + pair.pop()

    assert_as_in_fx(function)


@pytest.mark.step(4, "attributes and methods")
def test_methods_and_attributes() -> None:
    """A method is one node; an attribute becomes one node when it is first used as a value."""

    def function(x: torch.Tensor) -> Any:
        size, _unused = x.shape, x.requires_grad
        y = x.view(-1, size[1]).mul(other=2)
        return y.permute(1, 0), size[0] * size[1], x.T.mT.dtype

    assert_as_in_fx(function)


@pytest.mark.step(4, "attributes and methods")
def test_attributes_are_the_tensors_not_the_proxys() -> None:
    """A tensor may have an attribute of any name; yours are ``graph``, ``node`` and ``_...``."""

    def function(x: torch.Tensor) -> Any:
        return x.name, x.data, x.grad, x.args, x.op, x.target, x.value, x.owner, x.real

    assert_as_in_fx(function)


@pytest.mark.step(5, "what has no answer")
@pytest.mark.parametrize("what", ["bool", "iter", "len"])
def test_control_flow_is_refused_and_located(what: str) -> None:
    """The message names the line that asked, which is the line to rewrite."""

    def ask_bool(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x
        return -x

    def ask_iter(x: torch.Tensor) -> torch.Tensor:
        a, b = x
        return a + b

    def ask_len(x: torch.Tensor) -> int:
        return len(x)

    function = {"bool": ask_bool, "iter": ask_iter, "len": ask_len}[what]
    code = function.__code__
    message = refusal(function)

    assert f"{what}()" in message, message
    assert f"{code.co_filename}:{code.co_firstlineno + 1}" in message, message


@pytest.mark.step(5, "what has no answer")
def test_the_place_is_where_it_was_asked() -> None:
    """The message names the line that asked, not the call of the function around it."""

    def helper(x: torch.Tensor) -> int:
        return 1 if x else 2

    message = refusal(lambda x: helper(x) + 1)
    code = helper.__code__

    assert f"{code.co_filename}:{code.co_firstlineno + 1}" in message, f"in helper: {message}"


@pytest.mark.step(5, "what has no answer")
def test_attributes_and_loops_are_refused_too() -> None:
    """The stand-in for an attribute is a proxy; ``and`` and ``*x`` ask like ``if`` and ``for``."""
    assert "bool()" in refusal(lambda x: 1 if x.is_cuda else 2), (
        "x.is_cuda is a proxy as well, and the conditional asks for its bool, which nobody knows"
    )
    assert "bool()" in refusal(lambda x, y: x and y), (
        "'x and y' asks for the bool of x, which nobody knows"
    )
    assert "bool()" in refusal(lambda x: 0 < x < 1), (
        "'0 < x < 1' is '0 < x and x < 1': it asks for the bool of the first, which nobody knows"
    )
    assert "iter()" in refusal(lambda x: torch.zeros(*x.shape)), (
        "'*x.shape' iterates over a proxy, and nobody knows how many sizes there are"
    )
    assert "iter()" in refusal(lambda x: [row for row in x]), (  # noqa: C416
        "a comprehension iterates over x, and nobody knows how many rows there are"
    )
    assert "len()" in refusal(lambda x: range(len(x.shape))), (
        "len(x.shape) must be an int, and nobody knows which"
    )


@pytest.mark.step(5, "what has no answer")
def test_unnamed_tensors_are_refused() -> None:
    """A graph has no name for such tensors: it would hold their data forever."""
    one = torch.ones(3)

    assert "tensor" in refusal(lambda x: x + one), (
        "x + one: a tensor that is not a proxy has no node, so raise a TraceError that says "
        "'tensor'"
    )
    assert "tensor" in refusal(lambda x: one + x), (
        "one + x: a tensor that is not a proxy must be refused on the left as well"
    )
    assert "tensor" in refusal(lambda x: torch.cat([x, one])), (
        "torch.cat([x, one]): a tensor must be refused inside a list as well"
    )
    assert "tensor" in refusal(lambda x: torch.add(x, other=one)), (
        "torch.add(x, other=one): a tensor must be refused as a keyword argument as well"
    )
    assert "tensor" in refusal(lambda x: [one]), (
        "[one] is returned: a tensor must be refused among the results as well"
    )


@pytest.mark.step(5, "what has no answer")
@settings(phases=PHASES)
@given(program=PROGRAMS)
def test_any_program(program: list[tuple[int, int, int]]) -> None:
    """For random steps, each on results of earlier ones, the graph equals FX's."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        values = [x, y]
        for step, first, second in program:
            values.append(STEPS[step](values[first % len(values)], values[second % len(values)]))
        return values[2:]

    assert_as_in_fx(function)


@pytest.mark.step(5, "what has no answer")
def test_nothing_ready_made_is_called() -> None:
    """FX's graph and proxies may not be called: you are writing them."""
    parts = ("_symbolic_trace", "experimental", "graph", "interpreter", "node", "proxy")
    # Only the stack shows who asked for a value.
    allow = ("inspect.currentframe", "inspect.stack", "sys._getframe")

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x.view(-1)) + 1

    with forbids(kata, "torch.fx", *(f"torch.fx.{part}" for part in parts), allow=allow) as fresh:
        graph = fresh.trace(function)

    names = [node.name for node in graph.nodes]
    assert ["x", "view", "relu", "add", "output"] == names, (
        f"your graph's nodes are {names}, expected x, view, relu, add and output"
    )
