"""Tests of k05_interpreter: what it returns, what a subclass sees, and what it keeps."""

from __future__ import annotations

import operator
import weakref
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.fx.passes.fake_tensor_prop
import torch.fx.passes.shape_prop
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn

from katas.lecture10 import k05_interpreter as kata
from katas.lecture10.k05_interpreter import Interpreter
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


def traced(function: Callable[..., Any] | nn.Module) -> fx.GraphModule:
    """Return a graph module by symbolic tracing."""
    return fx.symbolic_trace(function)


def test_a_graph_runs() -> None:
    """A function of two inputs, with four kinds of nodes, gives the result of a plain call."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.add(x, y, alpha=2).reshape(3, -1), [x, {"y": y.t()}, y[0:1, None], 7]

    module = traced(function)
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    expected, found = module(x, y), Interpreter(module).run(x, y)

    torch.testing.assert_close(found[0], expected[0])
    assert found[1][0] is x, "a node in a list should become its value"
    torch.testing.assert_close(found[1][1]["y"], y.t())
    torch.testing.assert_close(found[1][2], y[0:1, None])
    assert 7 == found[1][3], (
        f"run returned {found[1][3]} for the 7 among the results: return whatever is not a node as "
        f"it is"
    )


def test_modules_and_attributes_are_found_by_their_path() -> None:
    """Targets of call_module and get_attr have dots in them."""

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 2)))
            self.scale = nn.Parameter(torch.randn(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner[1](self.inner[0](x)) * self.scale
            return y + self.inner[0].bias.sum(dim=0)

    module, x = traced(Outer()), torch.randn(5, 3)

    assert {"call_module", "get_attr"} <= {node.op for node in module.graph.nodes}
    torch.testing.assert_close(Interpreter(module).run(x), module(x))


def test_inputs_are_counted() -> None:
    """A default replaces a missing input; without one, an error says which input is missing."""
    module = traced(lambda matrix, factor=3: matrix * factor)
    x = torch.ones(2)

    assert [3, 3] == Interpreter(module).run(x).tolist(), (
        f"factor is not given, so use its default 3: you return "
        f"{Interpreter(module).run(x).tolist()}, expected [3, 3]"
    )
    assert [5, 5] == Interpreter(module).run(x, 5).tolist(), (
        "factor is given, so do not use its default: expected [5, 5]"
    )
    with pytest.raises(TypeError, match="matrix"):
        Interpreter(module).run()
    with pytest.raises(TypeError, match="inputs"):
        Interpreter(module).run(x, 5, 6)


def test_none_is_an_input() -> None:
    """An input is missing if it is not given, not if it is falsy."""
    module = traced(lambda x, y=3: (x, y))
    found = Interpreter(module).run(0, None)
    assert (0, None) == found, (
        f"run(0, None) of (x, y=3) -> (x, y) returned {found}, expected (0, None)"
    )


def test_none_is_a_default() -> None:
    """A missing input gets its default, whatever the default is."""
    module = traced(lambda x, y=None: (x, y))
    try:
        found = Interpreter(module).run(1)
    except TypeError as error:
        raise AssertionError(f"y has the default None, so it is not missing: {error}") from error
    assert (1, None) == found, (
        f"run(1) of (x, y=None) -> (x, y) returned {found}, expected (1, None)"
    )


def test_every_node_passes_by_run_node() -> None:
    """A subclass sees every node once, in order, with values for arguments."""
    seen = []

    class Spy(Interpreter):
        def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            value = super().run_node(node, args, kwargs)
            seen.append((node, args, kwargs, value))
            return value * 10 if node.target is operator.add else value

    module = traced(lambda x, y: torch.sum(operator.add(x, y), dim=0))
    x, y = torch.ones(3), torch.ones(3)
    result = Spy(module).run(x, y)
    nodes = list(module.graph.nodes)

    assert nodes == [node for node, *_ in seen], (
        "run_node must see every node once, in order, placeholders and output included"
    )
    assert 60 == result.item(), "what run_node returns should be the node's value"
    assert seen[0][1] == (x,), "the args of a placeholder should be its input"
    assert seen[2][1] == (x, y), (
        f"the args of a call are {seen[2][1]}, expected the two inputs: pass values, not nodes"
    )
    assert seen[3][2] == {"dim": 0}, "keyword arguments must stay keyword arguments"
    assert result is seen[4][1][0], (
        "for the output, pass run_node the very tensor that sum has returned, not a node"
    )
    assert result is seen[4][3], "run should return what run_node returns for the output node"


def test_values_are_dropped_after_their_last_user() -> None:
    """A chain of eight keeps two or three values, not eight; a value without a user none."""
    refs: dict[fx.Node, weakref.ref[torch.Tensor]] = {}
    most = []

    class Spy(Interpreter):
        def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            most.append(sum(ref() is not None for ref in refs.values()))
            value = super().run_node(node, args, kwargs)
            if node.op == "call_function":
                refs[node] = weakref.ref(value)
            return value

    graph = fx.Graph()
    x = kept = graph.placeholder("x")
    for _ in range(8):
        x = graph.call_function(torch.neg, (x,))
        graph.call_function(torch.abs, (x,))
    graph.output((kept, x))
    spy = Spy(fx.GraphModule({}, graph))
    result = spy.run(torch.ones(2))

    assert [1.0, 1.0] == result[1].tolist(), (
        f"run returned {result[1].tolist()}, expected ones: they are negated eight times"
    )
    assert max(most) <= 3, (
        f"{max(most)} values were alive at once, expected at most 3: a plain program needs 2"
    )
    alive = [ref() for ref in refs.values() if ref() is not None]
    assert all(value is result[1] for value in alive), "only the result should outlive the run"


def test_an_interpreter_runs_again() -> None:
    """Nothing is left over from the last run."""
    interpreter = Interpreter(traced(lambda x, y: x - y))

    assert 1 == interpreter.run(3, 2), (
        "expected x - y to be 1, with 3 and 2: the inputs go to the placeholders in order"
    )
    assert -4 == interpreter.run(1, 5), (
        "expected x - y to be -4 in a second run, with 1 and 5: nothing may be left over from the "
        "first run"
    )

    result = interpreter.run(torch.ones(2), torch.ones(2))
    alive = weakref.ref(result)
    del result
    assert alive() is None, (
        "drop the output's value at once, since it has no user: your run keeps it, PyTorch's "
        "frees it"
    )


FUNCTIONS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    torch.relu,
    lambda x: x.t() @ x,
    lambda x: torch.cat([x, x], dim=1),
    lambda x: x.unsqueeze(0).sum(dim=(0, 2)).unsqueeze(1),
    lambda x: x.chunk(2, dim=0)[0],
    lambda x: x.max(dim=1, keepdim=True).values,
    lambda x: x.view(x.size(1), x.size(0)),
    lambda x: (x > 0).to(torch.float32),
    lambda x: torch.addmm(x.new_ones(1), x, x.t()),
    lambda x: x.contiguous(),
]


@given(
    program=st.lists(st.integers(0, len(FUNCTIONS) - 1), max_size=6),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_any_program(program: list[int], sizes: tuple[int, int]) -> None:
    """A random program gives the result of a plain call."""

    def function(x: torch.Tensor) -> torch.Tensor:
        for number in program:
            x = FUNCTIONS[number](x.contiguous())
        return x

    module, x = traced(function), torch.linspace(-1, 1, sizes[0] * sizes[1]).view(sizes)

    torch.testing.assert_close(Interpreter(module).run(x), function(x))


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's interpreter and the generated code may not be called: you are writing them."""
    x, layer = torch.ones(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (2, 2)))
    module = traced(layer)
    names = ("torch.fx.Interpreter", "torch.fx.interpreter", "torch.fx.GraphModule.__call__")
    with forbids(kata, *names[:2], allow=("torch._", "torch.ops", "torch.?")) as fresh:
        shape = tuple(fresh.Interpreter(module).run(x).shape)

    assert (2, 2, 2) == shape, (
        f"your result has shape {shape}, expected (2, 2, 2): a Linear, then an Unflatten"
    )


def test_models(zoo: Callable[[str], Any]) -> None:
    """A traced ResNet has the values of the model."""
    model, inputs = zoo("resnet")

    torch.testing.assert_close(Interpreter(traced(model)).run(*inputs), model(*inputs))
