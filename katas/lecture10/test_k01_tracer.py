"""Tests of k01_tracer: what is recorded, what is refused, and the code made of it."""

from __future__ import annotations

import ast
import enum
import operator
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

from katas.lecture10 import k01_tracer as kata
from katas.lecture10.k01_tracer import BINARY
from katas.lecture10.k01_tracer import COMPARISONS
from katas.lecture10.k01_tracer import UNARY
from katas.lecture10.k01_tracer import Node
from katas.lecture10.k01_tracer import TraceError
from katas.lecture10.k01_tracer import compiled
from katas.lecture10.k01_tracer import python_code
from katas.lecture10.k01_tracer import trace
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


class Reference(fx.Tracer):
    """The tracer of FX, with buffers treated as parameters are."""

    proxy_buffer_attributes = True


def rows(graph: Any) -> list[tuple[Any, ...]]:
    """Return op, target, args and kwargs of each node, with nodes written as their places."""
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
    with unchanged(root=root):
        graph = trace(root)
    expected, actual = rows(Reference().trace(root)), rows(graph)
    for place, (theirs, ours) in enumerate(zip(expected, actual, strict=False)):
        assert theirs == ours, f"node {place}: FX records {theirs}, you record {ours}"
    assert len(expected) == len(actual), f"{len(actual)} nodes; FX makes {len(expected)}"
    return graph


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
        # Not in the state_dict, and a buffer all the same.
        self.register_buffer("shift", torch.full((3,), 0.5), persistent=False)
        self.register_parameter("none", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a mixture of them."""
        if self.none is not None:
            return x
        both = self.weight * 2 + self.bias
        return x * both * self.weight - self.shift


class Tower(nn.Module):
    """A module of one's own, a Sequential, a list and a module that is used twice."""

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


def refusal(function: Any) -> str:
    """Return the message of the TraceError that tracing `function` raises."""
    try:
        trace(function)
    except TraceError as error:
        return str(error)
    return "no TraceError"


def test_one_operator_is_one_node() -> None:
    """Between a placeholder for the input and the output: nothing else happened."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    expected = [
        ("placeholder", "x", ["tuple"], {}),
        ("call_function", operator.add, ["tuple", "%0", 1], {}),
        ("output", "output", ["tuple", "%1"], {}),
    ]
    graph = trace(function)

    assert expected == rows(graph), "a proxy among the arguments is stored as its node"
    assert all(isinstance(node, Node) for node in graph.nodes)


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_operators_of_two(name: str) -> None:
    """Python asks the class for ``__add__`` and the like, whether one or both are proxies."""
    function = getattr(operator, name)

    def apply(x: Any, y: Any) -> Any:
        return function(x, y), function(x, 3)

    assert [
        ("call_function", function, ["tuple", "%0", "%1"], {}),
        ("call_function", function, ["tuple", "%0", 3], {}),
    ] == rows(trace(apply))[2:-1]


@pytest.mark.parametrize("name", BINARY)
def test_reflected_operators_keep_the_order(name: str) -> None:
    """``2 - x`` is no ``x - 2``: int refuses, and Python asks the proxy for ``__rsub__``."""
    function = getattr(operator, name)

    def apply(x: Any) -> Any:
        return function(3, x)

    expected = ("call_function", function, ["tuple", 3, "%0"], {})
    assert expected == rows(trace(apply))[1], "the number stands on the left"


@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one(name: str) -> None:
    """``-x``, ``+x``, ``~x`` and ``abs(x)``."""
    function = getattr(operator, name)

    def apply(x: Any) -> Any:
        return function(x)

    assert [("call_function", function, ["tuple", "%0"], {})] == rows(trace(apply))[1:-1]


def test_methods_and_attributes() -> None:
    """A method is one node; an attribute is one when it is used as a value, and once."""

    def function(x: torch.Tensor) -> Any:
        size, _unused = x.shape, x.requires_grad
        y = x.view(-1, size[1]).mul(other=2)
        return y.permute(1, 0), size[0] * size[1], x.T.mT.dtype

    assert_as_in_fx(function)


def test_attributes_are_the_tensors_not_the_proxys() -> None:
    """A tensor may have an attribute of any name; yours are ``graph``, ``node`` and ``_...``."""

    def function(x: torch.Tensor) -> Any:
        return x.name, x.data, x.grad, x.args, x.op, x.target, x.value, x.owner, x.real

    assert_as_in_fx(function)


def test_functions_of_torch() -> None:
    """The proxy may stand in a list or behind a keyword; FX and you record the same function."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = torch.cat([x, y], dim=1)
        z = F.relu(z) + torch.relu(torch.clamp(1 + z, max=y))
        z = torch.where(condition=x > 0, input=y, other=z)
        return F.layer_norm(z, (3,)), torch.stack(tensors=(z, z))

    graph = assert_as_in_fx(function)
    assert ("call_function", torch.cat, ["tuple", ["list", "%0", "%1"]], {"dim": 1}) == rows(graph)[
        2
    ]


def test_nodes_hide_in_containers() -> None:
    """In slices, tuples, lists and dicts, and in what is returned."""

    def function(x: torch.Tensor) -> Any:
        rows = x.shape[0]
        y = x[: rows // 2, ..., None] + x[1 : x.shape[1] : 2]
        return {"y": [y, (rows, None)], "x": x, 3: (slice(rows, None), x.T)}

    assert_as_in_fx(function)


def test_containers_are_recorded_as_they_were() -> None:
    """The program's list stays the program's: it holds proxies, and may change after the call."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        sizes, pair, names = [2, 3], [x, y], {"rows": 2}
        z = torch.cat(pair).view(sizes).rename(names)
        sizes[0] = names["rows"] = 6
        return z.expand(sizes) + pair.pop()

    assert_as_in_fx(function)


def test_in_place_operators_fall_back() -> None:
    """``x += 1`` is ``x = x + 1`` to a class without ``__iadd__``."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y = y * 2
        y += x
        y @= x
        return y

    assert_as_in_fx(function)


def test_defaults_are_arguments_of_placeholders() -> None:
    """None is a default as well."""

    def function(x: torch.Tensor, alpha: float = 2.0, last: None = None) -> Any:
        return x * alpha, last

    assert_as_in_fx(function)
    assert_as_in_fx(lambda: 3)


def test_parameters_and_buffers_are_read_by_the_graph() -> None:
    """One node for each, at its first read, also where no input is in sight."""
    actual = [row[:2] for row in rows(trace(Scale()))]

    assert [
        ("placeholder", "x"),
        ("get_attr", "weight"),
        ("call_function", operator.mul),
        ("get_attr", "bias"),
        ("call_function", operator.add),
        ("call_function", operator.mul),
        ("call_function", operator.mul),
        ("get_attr", "shift"),
        ("call_function", operator.sub),
        ("output", "output"),
    ] == actual, "what a module reads must be a proxy, or it is computed while tracing"
    assert_as_in_fx(Scale())


def test_a_tensor_of_two_names_is_one_node() -> None:
    """Tied weights have one name, the first, in whichever module they are read."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Scale(), Scale()
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(self.second(x)) * self.second.weight

    assert_as_in_fx(Tied())


def test_the_graph_reads_like_the_program() -> None:
    """Leaves are calls; modules of your own and Sequentials are gone: what they do stands there."""
    assert_expected_inline(
        graph_text(trace(Tower())),
        """\
x = input
power = input(2.0)
scale_weight = self.scale.weight
mul = operator.mul(scale_weight, 2)
scale_bias = self.scale.bias
add = operator.add(mul, scale_bias)
mul_1 = operator.mul(x, add)
mul_2 = operator.mul(mul_1, scale_weight)
scale_shift = self.scale.shift
sub = operator.sub(mul_2, scale_shift)
blocks_0 = self.blocks.0(sub)
blocks_1_0 = self.blocks.1.0(blocks_0)
blocks_1_1_weight = self.blocks.1.1.weight
mul_3 = operator.mul(blocks_1_1_weight, 2)
blocks_1_1_bias = self.blocks.1.1.bias
add_1 = operator.add(mul_3, blocks_1_1_bias)
mul_4 = operator.mul(blocks_1_0, add_1)
mul_5 = operator.mul(mul_4, blocks_1_1_weight)
blocks_1_1_shift = self.blocks.1.1.shift
sub_1 = operator.sub(mul_5, blocks_1_1_shift)
layers_0 = self.layers.0(input=sub_1)
layers_1 = self.layers.1(input=layers_0)
blocks_0_1 = self.blocks.0(layers_1)
pow = operator.pow(blocks_0_1, power)
return pow""",
    )


def test_keyword_arguments_of_modules_arrive() -> None:
    """Of a leaf they are recorded; a module of your own is run with them, one without a default."""

    class Mix(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
            return x * by - y

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.relu = Mix(), nn.ReLU()
            self.pair, self.chain = nn.Bilinear(3, 3, 3), nn.Sequential(nn.Tanh())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.mix(x, y=self.relu(input=x), by=3.0)
            return self.chain(input=self.pair(input2=y, input1=self.mix(by=x, y=2, x=y)))

    assert_as_in_fx(Root())


def test_the_root_is_run_though_it_is_a_leaf() -> None:
    """Else the graph of ``nn.Linear`` would say: call nn.Linear."""
    graph = assert_as_in_fx(nn.Linear(3, 2))

    assert ["placeholder", "get_attr", "get_attr", "call_function", "output"] == [
        node.op for node in graph.nodes
    ]
    assert_as_in_fx(nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh())))


def test_a_subclass_of_a_leaf_is_run() -> None:
    """Where its class is defined decides: what a class of your own does is not known to anybody."""

    class Own(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).relu()

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own = Own(3, 3)
            # Run as usual, which is with its hooks.
            self.own.register_forward_hook(lambda module, args, result: result + 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.own(x)

    assert_as_in_fx(Root())


def test_a_graph_module_is_no_leaf() -> None:
    """Its class is PyTorch's, but not of ``torch.nn``: it is run."""

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = fx.symbolic_trace(Scale())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) + 1

    assert_as_in_fx(Root())


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


def test_the_place_is_where_it_was_asked() -> None:
    """Not where the program called what asked."""

    def helper(x: torch.Tensor) -> int:
        return 1 if x else 2

    message = refusal(lambda x: helper(x) + 1)
    code = helper.__code__

    assert f"{code.co_filename}:{code.co_firstlineno + 1}" in message, f"in helper: {message}"


def test_attributes_and_loops_are_refused_too() -> None:
    """What stands for an attribute is a proxy; ``and`` and ``*x`` ask like ``if`` and ``for``."""
    assert "bool()" in refusal(lambda x: 1 if x.is_cuda else 2)
    assert "bool()" in refusal(lambda x, y: x and y)
    assert "bool()" in refusal(lambda x: 0 < x < 1)
    assert "iter()" in refusal(lambda x: torch.zeros(*x.shape))
    assert "iter()" in refusal(lambda x: [row for row in x])  # noqa: C416
    assert "len()" in refusal(lambda x: range(len(x.shape)))


def test_control_flow_on_python_values_is_decided_while_tracing() -> None:
    """The graph of a module in eval mode has no dropout, for ever."""

    class Noisy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for step in range(2):
                x = x * step
            return F.dropout(x) if self.training else x.tanh()

    assert ["call_function", "call_function", "call_method"] == [
        node.op for node in assert_as_in_fx(Noisy().eval()).nodes
    ][1:-1]
    assert_as_in_fx(Noisy())


def test_unnamed_tensors_and_modules_are_refused() -> None:
    """A graph refers to tensors and modules by their path from the root."""
    one, linear, scale = torch.ones(3), nn.Linear(3, 3), Scale()

    def call(x: torch.Tensor) -> torch.Tensor:
        return linear(x)

    def run(x: torch.Tensor) -> torch.Tensor:
        return scale(x)

    assert "tensor" in refusal(lambda x: x + one)
    assert "tensor" in refusal(lambda x: one + x)
    assert "tensor" in refusal(lambda x: torch.cat([x, one]))
    assert "tensor" in refusal(lambda x: torch.add(x, other=one))
    assert "tensor" in refusal(lambda x: [one])
    own = nn.Parameter(one)
    assert "no TraceError" != refusal(lambda x: x * own), (
        "a Parameter of no module has no path from the root: yours records it, PyTorch's raises"
    )
    assert "submodule" in refusal(call)
    assert "Linear" in refusal(call)
    assert "submodule" in refusal(run), "a module that is no leaf is no submodule either"


def test_patches_are_taken_back() -> None:
    """Whether the program comes to its end or not."""
    call, read = nn.Module.__call__, nn.Module.__getattr__
    trace(Tower())
    assert call is nn.Module.__call__, "put nn.Module.__call__ back"
    assert read is nn.Module.__getattr__, "put nn.Module.__getattr__ back"
    assert "bool()" in refusal(lambda x: x or 1)
    assert call is nn.Module.__call__, "put it back in a finally"
    assert read is nn.Module.__getattr__, "put it back in a finally"

    with pytest.raises(KeyError):
        trace(lambda x: {}["an error of the program"])
    assert call is nn.Module.__call__, "put it back after any error"
    assert read is nn.Module.__getattr__, "put it back after any error"

    module = Tower()
    assert isinstance(module.scale.weight, nn.Parameter)
    assert isinstance(module(torch.ones(1, 3)), torch.Tensor)


def test_names_are_unique_identifiers() -> None:
    """Of placeholders, the names of the parameters, so that callers can use keywords."""
    graph = trace(Tower())
    names = [node.name for node in graph.nodes]

    assert ["x", "power"] == names[:2]
    assert len(names) == len(set(names)), f"two nodes of one name: {names}"
    assert all(name.isidentifier() for name in names), names


def test_the_code_computes_what_the_program_does() -> None:
    """Of a function: there is no module to look into, and `self` is anything."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = torch.cat([x, y], dim=1)
        return {"z": [z[: x.shape[0], 1::2]], 3: (x.add(y, alpha=2),)}, (-y, [], x is None)

    assert_runs_as(function, trace(function), torch.rand(2, 3), torch.rand(2, 3))


def test_the_code_looks_into_the_module_when_it_runs() -> None:
    """Paths such as "blocks.1.0" are no Python; a parameter may be another by now."""
    module, x = Tower(), torch.rand(2, 3)
    graph = trace(module)
    assert_runs_as(module, graph, x)
    assert_runs_as(module, graph, x, 3.0)

    forward = compiled(graph)
    forward(module, x)
    module.scale.weight = nn.Parameter(torch.rand(3))
    module.blocks[0] = nn.Linear(3, 3)
    assert torch.equal(module(x), forward(module, x)), "follow paths in `self`, at each call"


def test_the_code_has_the_signature_of_the_program() -> None:
    """Names and defaults, in order, behind `self`."""

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
    """It is the program, in order, not something that walks over the graph."""
    graph = trace(Tower())
    source, constants = python_code(graph)
    (function,) = ast.parse(source).body
    nodes = [node for node in graph.nodes if node.op != "placeholder"]

    assert isinstance(function, ast.FunctionDef)
    assert ["self", "x", "power"] == [argument.arg for argument in function.args.args]
    assert len(nodes) == len(function.body), f"{len(nodes)} nodes are to be computed in\n{source}"
    local = {node.name for node in graph.nodes}
    for node, statement in zip(nodes, function.body, strict=True):
        read = {name.id for name in ast.walk(statement) if isinstance(name, ast.Name)}
        uses = {value.name for value in (*node.args, *node.kwargs.values()) if is_node(value)}
        if node.op == "output":
            assert isinstance(statement, ast.Return), "the last statement returns"
        else:
            assert isinstance(statement, ast.Assign)
            assert [node.name] == [target.id for target in statement.targets]
            read.remove(node.name)
        assert uses == read & local, f"{ast.unparse(statement)!r} uses other nodes than {node}"
        assert read - local - {"self"} <= constants.keys(), "a global is missing"


def is_node(value: object) -> bool:
    """Whether an argument is a node."""
    return isinstance(value, Node)


def test_names_of_functions_and_nodes_do_not_collide() -> None:
    """A local variable hides the global of its name in the whole function, also before it is set.

    Two functions of one name are two globals, and a parameter may be called anything.
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
    """``operator.add`` and ``torch.add`` are called differently: they are not one global."""

    def function(x: torch.Tensor) -> Any:
        return torch.add(x, 1, alpha=3) + 1, torch.add(x + 1, 1, alpha=2)

    assert_runs_as(function, trace(function), torch.rand(2))


class Mode(enum.IntEnum):
    """An int whose repr is no Python."""

    TWO = 2


def test_constants_are_the_very_values() -> None:
    """Also those whose repr is no Python, or another value: inf, nan, dtypes, devices, enums."""

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
# To explain a failure, hypothesis would run a program some hundred times.
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
    max_size=8,
)


@settings(phases=PHASES)
@given(program=PROGRAMS, seed=st.integers(0, 1000))
def test_any_program(program: list[tuple[int, int, int]], seed: int) -> None:
    """Steps upon what earlier steps made: the graph of FX, and the values of the program."""

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        values = [x, y]
        for step, first, second in program:
            values.append(STEPS[step](values[first % len(values)], values[second % len(values)]))
        return values[2:]

    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(2, 3, 3, dtype=torch.float64, generator=generator).unbind()
    assert_runs_as(function, assert_as_in_fx(function), *inputs)


@pytest.mark.parametrize("name", ["resnet", "unet"])
def test_models(name: str, zoo: Callable[[str], Case]) -> None:
    """FX makes the same graph of a model, and the code computes what the model does."""
    model, inputs = zoo(name)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    graph = assert_as_in_fx(model)

    assert_runs_as(model, graph, *inputs)
    assert_runs_as(model, graph, *(torch.cat([x, x]) for x in inputs))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items()), (
        "the model's state was changed: tracing computes nothing"
    )


def test_nothing_ready_made_is_called() -> None:
    """FX's graph and proxies are what is being written here."""
    parts = ("_symbolic_trace", "experimental", "graph", "interpreter", "node", "proxy")
    module, x = Tower(), torch.rand(2, 3)
    # The given code runs exec, and who asked for a value is seen in the stack alone.
    allow = ("exec", "inspect.currentframe", "inspect.stack", "sys._getframe")
    with forbids(kata, "torch.fx", *(f"torch.fx.{part}" for part in parts), allow=allow) as fresh:
        found = fresh.compiled(fresh.trace(module))(module, x)

    torch.testing.assert_close(found, module(x), rtol=0, atol=0)
