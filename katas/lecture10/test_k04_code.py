"""Tests of k04_code: the code generated from a graph, and what it computes."""

from __future__ import annotations

import ast
import enum
import re
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.nn import functional as F

from katas.lecture10 import k04_code as kata
from katas.lecture10.k04_code import compiled
from katas.lecture10.k04_code import python_code
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


class Reference(fx.Tracer):
    """The tracer of FX, which treats buffers like parameters."""

    proxy_buffer_attributes = True


def assert_runs_as(root: Any, graph: Any, *inputs: Any) -> None:
    """Compare what the graph's code returns with what `root` returns."""
    try:
        actual = compiled(graph)(root, *inputs)
    except NameError as error:
        source, _ = python_code(graph)
        raise AssertionError(f"a global is missing or hidden: {error}, in\n{source}") from error
    torch.testing.assert_close(actual, root(*inputs), rtol=0, atol=0, equal_nan=True)


class Scale(nn.Module):
    """Reads a parameter twice, a buffer and a missing bias."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.bias = nn.Parameter(torch.ones(3))
        # Not in the state_dict, but still a buffer.
        self.register_buffer("shift", torch.full((3,), 0.5), persistent=False)
        self.register_parameter("none", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a value computed from all of these tensors."""
        if self.none is not None:
            return x
        both = self.weight * 2 + self.bias
        return x * both * self.weight - self.shift


class Tower(nn.Module):
    """A module of your own, a Sequential, a list and a module that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale()
        self.blocks = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), Scale()))
        self.layers = nn.ModuleList([nn.Tanh(), nn.Linear(3, 3)])

    def forward(self, x: torch.Tensor, power: float = 2.0) -> torch.Tensor:
        """Return (N, 3) for (N, 3)."""
        x = self.blocks(self.scale(x))
        for layer in self.layers:
            x = layer(input=x)
        return self.blocks[0](x) ** power


def test_the_code_computes_what_the_program_does() -> None:
    """The graph of a function has no module to look into, and `self` can be anything."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = torch.cat([x, y], dim=1)
        return {"z": [z[: x.shape[0], 1::2]], 3: (x.add(y, alpha=2),)}, (-y, [], x is None)

    assert_runs_as(function, trace(function), torch.rand(2, 3), torch.rand(2, 3))


def test_the_code_looks_into_the_module_when_it_runs() -> None:
    """Paths such as "blocks.1.0" are not valid Python; a parameter may have been replaced since."""
    module, x = Tower(), torch.rand(2, 3)
    graph = trace(module)
    assert_runs_as(module, graph, x)
    assert_runs_as(module, graph, x, 3.0)

    forward = compiled(graph)
    forward(module, x)
    module.scale.weight = nn.Parameter(torch.rand(3))
    module.blocks[0] = nn.Linear(3, 3)
    assert torch.equal(module(x), forward(module, x)), "follow paths in `self`, on every call"


def test_the_code_has_the_signature_of_the_program() -> None:
    """Names and defaults, in order, after `self`."""

    def function(x: torch.Tensor, y: float = 2.0, dtype: torch.dtype = torch.float64) -> Any:
        return (x * y).to(dtype)

    forward = compiled(trace(function))
    x = torch.ones(2)

    torch.testing.assert_close(forward(None, x), function(x), rtol=0, atol=0)
    torch.testing.assert_close(forward(None, x, 3.0), function(x, 3.0), rtol=0, atol=0)
    torch.testing.assert_close(
        forward(None, x=x, dtype=torch.float16), function(x, dtype=torch.float16), rtol=0, atol=0
    )


def test_the_code_is_one_statement_for_each_node() -> None:
    """The code is the program, in order, not an interpreter of the graph."""
    graph = trace(Tower())
    source, constants = python_code(graph)
    (function,) = ast.parse(source).body
    nodes = [node for node in graph.nodes if node.op != "placeholder"]

    assert isinstance(function, ast.FunctionDef), (
        f"the source is a {type(function).__name__}, expected one function:\n{source}"
    )
    assert ["self", "x", "power"] == [argument.arg for argument in function.args.args], (
        f"the function takes {[argument.arg for argument in function.args.args]}, expected "
        "self and then the inputs, x and power"
    )
    assert len(nodes) == len(function.body), (
        f"your function has {len(function.body)} statements, expected {len(nodes)}, one for each "
        f"node that is not a placeholder:\n{source}"
    )
    local = {node.name for node in graph.nodes}
    for node, statement in zip(nodes, function.body, strict=True):
        read = {name.id for name in ast.walk(statement) if isinstance(name, ast.Name)}
        uses = {value.name for value in (*node.args, *node.kwargs.values()) if is_node(value)}
        if node.op == "output":
            assert isinstance(statement, ast.Return), "the last statement should be a return"
        else:
            assert isinstance(statement, ast.Assign), (
                f"{ast.unparse(statement)!r} is not an assignment: write one for each node except "
                f"the output"
            )
            assert [node.name] == [target.id for target in statement.targets], (
                f"{ast.unparse(statement)!r} does not assign to the node's name, {node.name}"
            )
            read.remove(node.name)
        assert uses == read & local, f"{ast.unparse(statement)!r} uses different nodes from {node}"
        assert read - local - {"self"} <= constants.keys(), (
            "a name in the code is neither a local, self nor one of the returned globals"
        )


def is_node(value: object) -> bool:
    """Whether an argument is a node."""
    return isinstance(value, fx.Node)


def test_names_of_functions_and_nodes_do_not_collide() -> None:
    """A local variable hides the global of its name in the whole function, even before it is set.

    Two functions with the same name are two globals, and a parameter may be called anything.
    """

    def function(relu: torch.Tensor, slice: torch.Tensor, attrgetter: torch.Tensor) -> Any:  # noqa: A002
        x = torch.relu(relu) + F.relu(slice - 1) + torch.relu_(attrgetter * 2)
        return x.tanh() + torch.tanh(x) + torch.tanh(x + x)[1 : relu.shape[0]]

    def other(constant: torch.Tensor, getattr: torch.Tensor) -> Any:  # noqa: A002
        return torch.sum(constant, dtype=torch.float64) * float("inf") * getattr.shape[0]

    x = torch.rand(2, 1) - 0.5
    assert_runs_as(function, trace(function), x, x + 1, x * 2)
    assert_runs_as(other, trace(other), x, x)


def test_functions_of_one_name_stay_apart() -> None:
    """``operator.add`` and ``torch.add`` take different arguments: they are not one global."""

    def function(x: torch.Tensor) -> Any:
        return torch.add(x, 1, alpha=3) + 1, torch.add(x + 1, 1, alpha=2)

    assert_runs_as(function, trace(function), torch.rand(2))


class Mode(enum.IntEnum):
    """An int whose repr is not valid Python."""

    TWO = 2


def test_constants_are_the_very_values() -> None:
    """Even if repr is not valid Python, or another value: inf, nan, dtypes, devices, enums."""

    def function(x: torch.Tensor) -> Any:
        y = x.to(torch.float64).clamp(max=float("inf")).clamp(min=-float("inf"))
        y = y.to(torch.device("cpu"), memory_format=torch.contiguous_format)
        y = y.masked_fill(y > 0.5, float("nan")).unsqueeze(Mode.TWO) * -(2**40)
        return y[..., None, True], y.sum(dim=(0, -1)) * 1e-300, y.transpose(-2, -1), {None: y}

    assert_runs_as(function, trace(function), torch.rand(3, 2))


def test_the_code_serves_every_size() -> None:
    """Nothing of the inputs is in the graph, which never saw them."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0] * x.size(1), -1)[: x.shape[1]] / x.shape[2]

    graph = trace(function)
    for shape in ((2, 3, 4), (5, 1, 1), (1, 7, 2)):
        assert_runs_as(function, graph, torch.rand(shape))


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


@settings(phases=PHASES)
@given(program=PROGRAMS, seed=st.integers(0, 1000))
def test_any_program(program: list[tuple[int, int, int]], seed: int) -> None:
    """Each step uses results of earlier steps: the code computes the values of the program."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        values = [x, y]
        for step, first, second in program:
            values.append(STEPS[step](values[first % len(values)], values[second % len(values)]))
        return values[2:]

    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(2, 3, 3, dtype=torch.float64, generator=generator).unbind()
    assert_runs_as(function, trace(function), *inputs)


@pytest.mark.parametrize("name", ["resnet", "unet"])
def test_models(name: str, zoo: Callable[[str], Case]) -> None:
    """The code computes what the model does, for other sizes too."""
    model, inputs = zoo(name)
    graph = trace(model)

    assert_runs_as(model, graph, *inputs)
    assert_runs_as(model, graph, *(torch.cat([x, x]) for x in inputs))


def test_nothing_ready_made_is_called() -> None:
    """The code generator of FX may not be called: you are writing it."""
    module, x = Tower(), torch.rand(2, 3)
    graph = trace(module)
    names = ("torch.fx.Graph.python_code", "torch.fx.GraphModule", "torch.fx.graph.CodeGen")
    with forbids(kata, *names, allow=("exec",)) as fresh:
        found = fresh.compiled(graph)(module, x)

    torch.testing.assert_close(found, module(x), rtol=0, atol=0)


def trace(root: Any) -> fx.Graph:
    """Return the graph that FX records, with buffers read by get_attr as parameters are."""
    return Reference().trace(root)


def test_the_code_reads_so() -> None:
    """One line for each node; the names of functions and of nodes stay distinct."""

    def function(x: torch.Tensor, y: float = 2.0) -> Any:
        return torch.relu(x).mul(y, out=None)[0], x.shape

    source, constants = python_code(trace(function))
    # Spaces, quotes and commas are yours to choose.
    source = ast.unparse(ast.parse(source))
    for name in sorted(constants, key=len, reverse=True):
        value = constants[name]
        assert name not in {"x", "y", "relu", "mul", "getitem"}, (
            f"the node {name} hides a global of that name"
        )
        source = re.sub(rf"\b{name}\b", f"<{getattr(value, '__name__', value)}>", source)

    assert_expected_inline(
        source,
        """\
def forward(self, x, y=<2.0>):
    relu = <relu>(x)
    mul = relu.mul(y, out=None)
    getitem = <getitem>(mul, 0)
    getattr_1 = <getattr>(x, 'shape')
    return (getitem, getattr_1)""",
    )
