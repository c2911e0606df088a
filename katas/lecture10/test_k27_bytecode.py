"""Tests of k27_bytecode: the graphs of functions that are not called, and their guards."""

# ruff: noqa: D103 - the programs that are traced say what they do

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture10 import k27_bytecode as kata
from katas.lecture10.bytecode import GraphBreak
from katas.lecture10.k27_bytecode import capture
from plugins.kit import forbids
from plugins.kit import function_name
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = 3


TABLE = [1, 2]


WEIGHT = torch.ones(3)


def called(graph: fx.GraphModule) -> list[tuple[str, str]]:
    """Return the calls of a graph, in order: op and name."""
    nodes = [node for node in graph.graph.nodes if node.op.startswith("call")]
    return [
        (it.op, it.target if isinstance(it.target, str) else function_name(it.target))
        for it in nodes
    ]


def agrees(function: Callable[..., Any], *args: Any) -> fx.GraphModule:
    """Check the graph of a call on its own arguments and on other data; return it."""
    with unchanged(args=args):
        graph = capture(function, *args).graph
    text = f"the graph of {function.__name__}, which differs from it, reads\n{graph_text(graph)}"
    for change in (lambda t: t, lambda t: t * -2 + 1):
        new = [change(it) if isinstance(it, torch.Tensor) else it for it in args]
        tensors = [it.clone() for it in new if isinstance(it, torch.Tensor)]
        torch.testing.assert_close(
            graph(*tensors), function(*new), msg=lambda found: f"{found}\n{text}"
        )
    return graph


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def looped(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        x = x * i
    return x


def nested(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        for j in range(i):
            x = x + i * j
    return x


def stepwise(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y = x - y
    x = y - x
    return y / x


def exchanged(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    # Three values are on the stack, and the first is stored first.
    a, _, _ = x - y, x, y
    return a


def texts(x: torch.Tensor, name: str) -> torch.Tensor:
    if name.startswith("row"):
        return x.reshape(x.shape.numel()) * (2, 3).index(3)
    return x


def methods(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    return y.sum(1, keepdim=True).mul(y)


def functions(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(torch.exp(input=torch.cat(tensors=[x, x])), dim=-1)


def shapes(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    if x.is_cuda or not x.is_floating_point():
        return x
    if x.dim() == 2 and x.size(0) == rows and x.dtype is torch.float32:
        return x.reshape(columns, rows) / (x.shape[-1] * x.ndim)
    return x.exp()


def negative(x: torch.Tensor, n: int) -> torch.Tensor:
    return -x * -n


def branches(x: torch.Tensor, flag: bool, n: int) -> torch.Tensor:  # noqa: FBT001
    if not flag and n > 2:
        x = x + 1
    elif n < 0 or flag:
        x = x - n
    y = x if n is None else x * 2
    while n > 0:
        n -= 1
        if n == 1:
            continue
        y = y.relu()
        if n == 3:
            break
    return y


def lists(x: torch.Tensor, n: int) -> torch.Tensor:
    found = [x]
    for i in range(n):
        found.append(found[-1] + i)
    for i, (a, b) in enumerate(zip(found, found[1:])):  # noqa: B905, RUF007
        x = x + a * b * i
    return torch.stack(found) + x + len(found)


def results(x: torch.Tensor) -> Any:
    return (x.exp(), [x, x.shape[0]], None, 2.5)


def several(x: torch.Tensor) -> torch.Tensor:
    first, second = x.split(2)
    values, places = torch.max(first, dim=0)
    return values * second + places


def slices(x: torch.Tensor, i: int) -> torch.Tensor:
    return x[i:, None] + x[:-i] + x[[0, i]].sum() + x[..., ::2].sum()


def attributes(x: torch.Tensor) -> torch.Tensor:
    return x.T @ x


def factories(x: torch.Tensor) -> torch.Tensor:
    return x + torch.arange(3, device=x.device, dtype=x.dtype) + torch.zeros(3)


def helper(x: torch.Tensor, by: int = 2, *, plus: int = 0) -> torch.Tensor:
    if plus:
        return x + plus
    return x * by * SCALE


def inlined(x: torch.Tensor) -> torch.Tensor:
    return helper(x) + helper(x, 5) + helper(x, plus=SCALE)


def recursive(x: torch.Tensor, n: int) -> torch.Tensor:
    return x if n == 0 else recursive(x.sin(), n - 1)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
    batch, length, width = q.shape
    q, k, v = split_heads(q, heads), split_heads(k, heads), split_heads(v, heads)
    scores = q @ k.transpose(-2, -1) / (width // heads) ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    scores = scores.masked_fill(~mask, float_min())
    return (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width)


def float_min() -> float:
    return -1e9


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def network(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, depth: int) -> torch.Tensor:
    for _ in range(depth):
        x = F.relu(F.conv2d(x, w1, padding=1)) + x
    x = F.adaptive_avg_pool2d(x, 1).flatten(1)
    return F.log_softmax(F.linear(x, w2), dim=1)


def test_one_operator_becomes_one_node() -> None:
    """``x + y``: two placeholders, one call, which computes the sum."""
    x, y = torch.rand(3), torch.rand(3)
    graph = capture(add, x, y).graph

    assert isinstance(graph, fx.GraphModule), (
        f"the graph is a {type(graph).__name__}, expected a GraphModule"
    )
    assert ["x", "y"] == [node.target for node in graph.graph.nodes if node.op == "placeholder"], (
        "the placeholders are "
        f"{[node.target for node in graph.graph.nodes if node.op == 'placeholder']}, expected "
        "x and y: one for each parameter, by its name"
    )
    assert [("call_function", "operator.add")] == called(graph), (
        f"your graph calls {called(graph)}, expected one operator.add for x + y"
    )
    torch.testing.assert_close(graph(x, y), x + y)
    torch.testing.assert_close(graph(y, y), y + y)

    same = capture(add, x, x).graph
    names = [node.target for node in same.graph.nodes if node.op == "placeholder"]
    assert ["x", "y"] == names, (
        f"one tensor passed for two parameters needs two placeholders; your graph has {names}"
    )
    torch.testing.assert_close(same(x, y), x + y)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        pytest.param(stepwise, (torch.rand(3), torch.rand(3)), id="variables"),
        pytest.param(exchanged, (torch.rand(3), torch.rand(3)), id="exchange"),
        pytest.param(negative, (torch.rand(3), 4), id="unary"),
        pytest.param(methods, (torch.rand(2, 3),), id="methods"),
        pytest.param(functions, (torch.rand(2, 3),), id="functions"),
        pytest.param(shapes, (torch.rand(2, 3),), id="shapes"),
        pytest.param(results, (torch.rand(2, 3),), id="results"),
        pytest.param(several, (torch.rand(4, 3),), id="several_results"),
        pytest.param(slices, (torch.rand(4, 4), 2), id="slices"),
        pytest.param(attributes, (torch.rand(2, 3),), id="attributes"),
        pytest.param(factories, (torch.rand(3),), id="factories"),
        pytest.param(inlined, (torch.rand(3),), id="inlined"),
        pytest.param(recursive, (torch.rand(3), 3), id="recursive"),
        pytest.param(looped, (torch.rand(3), 3), id="for"),
        pytest.param(looped, (torch.rand(3), 0), id="for_never"),
        pytest.param(nested, (torch.rand(3), 4), id="nested_loops"),
        pytest.param(lists, (torch.rand(3), 3), id="lists"),
        pytest.param(texts, (torch.rand(2, 3), "rows"), id="python_methods"),
    ],
)
def test_the_graph_computes_what_the_function_does(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    """The graph is right for the data it was traced with and for other data."""
    agrees(function, *args)


def test_python_is_gone_from_the_graph() -> None:
    """A loop is unrolled, helpers are inlined, shapes are numbers: only operators are left."""
    assert_expected_inline(
        "\n\n".join(
            graph_text(capture(function, *args).graph)
            for function, args in [
                (shapes, (torch.rand(2, 3),)),
                (inlined, (torch.rand(3),)),
                (lists, (torch.rand(3), 2)),
                (several, (torch.rand(4, 3),)),
            ]
        ),
        """\
x = input
reshape = x.reshape(3, 2)
truediv = operator.truediv(reshape, 6)
return truediv

x = input
mul = operator.mul(x, 2)
mul_1 = operator.mul(mul, 3)
mul_2 = operator.mul(x, 5)
mul_3 = operator.mul(mul_2, 3)
add = operator.add(mul_1, mul_3)
add_1 = operator.add(x, 3)
add_2 = operator.add(add, add_1)
return add_2

x = input
add = operator.add(x, 0)
add_1 = operator.add(add, 1)
mul = operator.mul(x, add)
mul_1 = operator.mul(mul, 0)
add_2 = operator.add(x, mul_1)
mul_2 = operator.mul(add, add_1)
mul_3 = operator.mul(mul_2, 1)
add_3 = operator.add(add_2, mul_3)
stack = stack([x, add, add_1])
add_4 = operator.add(stack, add_3)
add_5 = operator.add(add_4, 3)
return add_5

x = input
split = x.split(2)
getitem = operator.getitem(split, 0)
getitem_1 = operator.getitem(split, 1)
max = max(getitem, dim=0)
getitem_2 = operator.getitem(max, 0)
getitem_3 = operator.getitem(max, 1)
mul = operator.mul(getitem_2, getitem_1)
add = operator.add(mul, getitem_3)
return add""",
    )


def test_an_attribute_is_a_value_or_a_node() -> None:
    """``x.shape`` is known now; ``x.T`` is a tensor, so it is recorded."""
    graph = capture(attributes, torch.rand(2, 3)).graph

    assert [("call_function", "getattr"), ("call_function", "operator.matmul")] == called(graph), (
        f"your graph calls {called(graph)} for x.T @ x, expected getattr and operator.matmul: x.T "
        "is a tensor, so it is recorded"
    )


def test_pieces_are_made_at_once() -> None:
    """Each piece of a list of tensors has a node, whether or not it is used later."""

    def first(x: torch.Tensor) -> torch.Tensor:
        piece, _ = x.split(2)
        return piece

    expected = [("call_method", "split"), *[("call_function", "operator.getitem")] * 2]
    found = called(capture(first, torch.ones(4)).graph)

    assert expected == found, (
        f"your graph calls {found}: split returns two pieces, so expected two getitem nodes"
    )


def test_each_capture_is_a_new_one() -> None:
    """The same function with a different number has a different graph, and the first one stays."""

    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    x = torch.ones(3)
    first, second = capture(scaled, x, 2), capture(scaled, x, 3)

    assert (2, 3) == (int(first.graph(x)[0]), int(second.graph(x)[0])), (
        "each graph should compute with its own number"
    )
    assert first.guards != second.guards, "each capture should be guarded by its own number"


@pytest.mark.parametrize(
    ("function", "args"),
    [
        pytest.param(stepwise, (torch.rand(3), torch.rand(3)), id="variables"),
        pytest.param(methods, (torch.rand(2, 3),), id="methods"),
        pytest.param(shapes, (torch.rand(2, 3),), id="shapes"),
        pytest.param(branches, (torch.rand(3), False, 5), id="branches"),
        pytest.param(lists, (torch.rand(3), 2), id="lists"),
        pytest.param(inlined, (torch.rand(3),), id="inlined"),
    ],
)
def test_dynamo_finds_the_same_operators(
    function: Callable[..., Any], args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, from the same bytecode."""
    ours = called(capture(function, *args).graph)
    # A failing test should not print the compiler's own trace of hundreds of lines.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    theirs: list[tuple[str, str]] = []

    def backend(graph: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        theirs.extend(called(graph))
        return graph.forward

    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*args)
    torch._dynamo.reset()  # noqa: SLF001

    assert theirs == ours, f"TorchDynamo's graph calls {theirs}, yours {ours}"


def test_inputs_are_guarded() -> None:
    """Tensors are guarded by metadata, constants by class and value; defaults are inputs too."""
    x = torch.rand(2, 3, dtype=torch.float64)

    def function(x: torch.Tensor, n: int, name: str = "a") -> torch.Tensor:
        return x * n

    expected = {
        "input x": (torch.float64, (2, 3), torch.device("cpu")),
        "input n": (int, 1),
        "input name": (str, "a"),
    }
    found = capture(function, x, 1).guards

    assert expected == found, f"you guard {found}, expected {expected}"
    assert bool is capture(function, x, True).guards["input n"][0], (  # noqa: FBT003
        "guard True by its class, bool: True == 1, but it may need a different graph"
    )


def branch_on_data(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    if y.sum() > 0:
        return y
    return x


def item(x: torch.Tensor) -> torch.Tensor:
    y = x + 1

    return y / y.max().item()


def prints(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("traced")  # noqa: T201 - it must not be
    return y


def loops_over_rows(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    for row in x:
        y = y + row
    return y


def unpacks(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    a, b, c = y
    return a + b + c


def negates(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y if not x.sum() else x


def length(x: torch.Tensor) -> int:
    y = x + 1
    return len(y)


def reads_a_list(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y + len(TABLE)


def reads_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y + WEIGHT


def makes_a_function(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return (lambda z: z + 1)(y)  # noqa: PLC3002


def calls_a_class(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y * int(2.5)


def calls_a_method_of_int(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y * SCALE.bit_length()


def data_dependent_size(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y.nonzero()


def breaks_inside(x: torch.Tensor) -> torch.Tensor:
    return item(x) + 1


@pytest.mark.parametrize(
    "function",
    [
        branch_on_data,
        prints,
        loops_over_rows,
        unpacks,
        negates,
        length,
        reads_a_list,
        reads_a_tensor,
        makes_a_function,
        calls_a_class,
        calls_a_method_of_int,
        data_dependent_size,
    ],
)
def test_the_graph_breaks(function: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A graph breaks before a step that depends on data or has side effects, and names the line."""
    with pytest.raises(GraphBreak) as caught:
        capture(function, torch.rand(3))
    first = function.__code__.co_firstlineno

    assert first + 2 == caught.value.line, (
        f"the graph should break on line {first + 2} of this file, not on {caught.value.line}"
    )
    assert "" == capsys.readouterr().out, "something was printed while tracing"


@pytest.mark.parametrize("function", [item, breaks_inside])
def test_a_break_names_the_innermost_line(function: Callable[..., Any]) -> None:
    """The error names the line in the function that was inlined."""
    with pytest.raises(GraphBreak) as caught:
        capture(function, torch.rand(3))

    assert item.__code__.co_firstlineno + 3 == caught.value.line, (
        "expected the line of the innermost instruction"
    )


class Data(TorchDispatchMode):
    """Records the operators that run on data."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Record the name of each operator that makes a tensor with data."""
        result = func(*args, **(kwargs or {}))
        # Fake tensors compute on the meta device.
        if type(result) is torch.Tensor and result.device.type != "meta":
            self.names.append(str(func))
        return result


def test_no_operator_runs_on_data() -> None:
    """Only fake tensors are computed with; a terabyte of zeros is no problem."""
    x = torch.rand(3)

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() + torch.zeros(1_000_000, 1_000_000)[0, :3]).exp()

    with Data() as data:
        capture(function, x)

    assert [] == data.names, f"these operators ran on data: {data.names}"


def test_the_function_is_not_called() -> None:
    """Its bytecode is read: Python enters no function of this file, not even a helper."""
    entered = []

    def watch(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == inlined.__code__.co_filename:
            entered.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        capture(inlined, torch.rand(3))
    finally:
        sys.setprofile(before)

    assert [] == entered, f"Python ran {entered}, expected none of this file's functions"


def test_arguments_stay_as_they_are() -> None:
    """A function that writes to its input does so when the graph runs, not before."""

    def function(x: torch.Tensor) -> torch.Tensor:
        x += 1
        return x.mul_(2)

    x = torch.ones(3)
    with torch.enable_grad(), unchanged(x=x):
        graph = capture(function, x).graph
    assert [1.0, 1.0, 1.0] == x.tolist(), "tracing wrote to the caller's tensor"
    graph(x)

    assert [4.0, 4.0, 4.0] == x.tolist(), (
        f"x is {x.tolist()}, expected fours, (1 + 1) * 2: the graph writes to its input, as "
        "the function does"
    )


READY_MADE = (
    "torch._dynamo",
    "torch._dynamo.export",
    "torch._dynamo.optimize",
    "torch._functorch",
    "torch.compile",
    "torch.export",
    "torch.fx.Proxy",
    "torch.fx.Tracer",
    "torch.fx._symbolic_trace.Tracer",
    "torch.fx._symbolic_trace.symbolic_trace",
    "torch.fx.experimental.proxy_tensor",
    "torch.fx.proxy",
    "torch.fx.symbolic_trace",
)


def test_nothing_ready_made_traces() -> None:
    """TorchDynamo and the other tracers may not be called: you are writing them."""
    x = torch.rand(3)
    # Fake tensors are in `torch._subclasses`; a function's globals are an attribute of it.
    with forbids(kata, *READY_MADE, allow=("torch._", "builtins", "inspect.signature")) as fresh:
        graph = fresh.capture(lists, x, 2).graph

    torch.testing.assert_close(graph(x), lists(x, 2))


STATEMENTS = [
    "a = a + b",
    "b = a * n",
    "a = torch.sin(b)",
    "b = b.cos().mul(other=n)",
    "a, b = b, a",
    "n = n + 1",
    "n = -n // 2",
    "a = a.reshape(-1).reshape(b.shape)",
    "a = torch.where(a > b, a, b)",
    "b = torch.cat([a, b])[: a.shape[0]]",
    "a = helper(a, n)",
    "b = helper(b, plus=n)",
    "a = (a if n else b) - 1",
    "b = a if 0 < n < 3 else b.T.T",
    "c = a.sum(0)\nb = b / (c * c + 1)",
    "if n > 1:\n    a = a - b\nelse:\n    b = -b",
    "for i in range(n % 4):\n    a = a + i\n    if i == n:\n        break",
    "while n > 2:\n    n -= 1\n    a = a * 0.5",
    "items = [a, b]\nitems.append(a - n)\na = items[n % 3]",
    "for i, t in enumerate((a, b)):\n    if i and n:\n        continue\n    b = b + t * i",
    "top, bottom = a.chunk(2)\nb = torch.cat((bottom, top), dim=0)",
]


@given(
    program=st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=8),
    n=st.integers(-2, 5),
    seed=st.integers(0, 1000),
)
def test_any_program(program: list[str], n: int, seed: int) -> None:
    """A program is drawn from twenty statements; the graph agrees with Python on other data too."""
    lines = [f"    {line}" for text in program for line in text.split("\n")]
    source = "\n".join(["def program(a, b, n):", *lines, "    return a, (b, n)"])
    space: dict[str, Any] = {"torch": torch, "helper": helper}
    exec(source, space)  # noqa: S102 - the statements are above
    generator = torch.Generator().manual_seed(seed)
    a, b, c, d = torch.rand(4, 4, 4, generator=generator)
    graph = capture(space["program"], a, b, n).graph

    torch.testing.assert_close(
        graph(a, b), space["program"](a, b, n), msg=lambda m: f"{m}\n{source}"
    )
    torch.testing.assert_close(
        graph(c, d), space["program"](c, d, n), msg=lambda m: f"{m}\n{source}"
    )


def test_programs_that_people_write() -> None:
    """Causal attention with several heads, and a small convolutional network, both functional."""
    q, k, v = torch.rand(3, 2, 5, 8)
    graph = agrees(attention, q, k, v, 2)
    calls = [name for _, name in called(graph)]
    assert 2 == calls.count("operator.matmul"), (
        f"your graph calls {calls}, expected operator.matmul twice"
    )

    graph = agrees(network, torch.rand(2, 3, 8, 8), torch.rand(3, 3, 3, 3), torch.rand(4, 3), 3)
    calls = [name for _, name in called(graph)]
    assert 3 == calls.count("conv2d"), f"your graph calls {calls}, expected conv2d three times"
