"""Tests of k31_loop_code: the source of kernels, run on lists."""

from __future__ import annotations

import ast
import math
from math import prod
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture10.k31_loop_code import to_python
from katas.lecture10.loops import Buffer
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Pointwise
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import ops
from katas.lecture10.loops import pointwise


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

X = Buffer("x", (3, 4), (4, 1))


ROW = Buffer("row", (4,), (1,))


class Texts(Handler):
    """A value is the whole expression, as text: the oracle for what a body computes."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Record the expression and return it."""
        self.calls.append(f"{name}({', '.join(map(str, args))})")
        return self.calls[-1]


def storage(*names: str) -> dict[str, torch.Tensor]:
    """Return a flat tensor of twelve numbers for each name."""
    return {name: torch.randn(12, dtype=torch.float64) for name in names}


def constant(value: float) -> Pointwise:
    """Return loops over nothing, whose value is a constant."""
    return Pointwise((), lambda _: ops.constant(value))


def row_reduction(kind: str, x: Buffer | Pointwise) -> Reduction:
    """Return the reduction of a tensor along its last dim."""
    load = x.make_loader()
    return Reduction(x.size[:-1], x.size[-1:], kind, lambda index, rindex: load([*index, *rindex]))


def transposed(x: Buffer | Pointwise) -> Pointwise:
    """Return a tensor with its dims reversed: no data moves, only the index changes."""
    load = x.make_loader()
    return Pointwise(x.size[::-1], lambda index: load(index[::-1]))


def executed(kernel: Pointwise | Reduction, memory: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return what the source of a kernel leaves in its output, run on lists of floats."""
    stride = [prod(kernel.size[place + 1 :]) for place in range(len(kernel.size))]
    output = Buffer("out", kernel.size, tuple(stride))
    lists = {name: values.tolist() for name, values in memory.items()}
    lists["out"] = [math.nan] * prod(kernel.size)
    run(to_python(kernel, output), lists)
    return torch.tensor(lists["out"], dtype=torch.float64).reshape(kernel.size)


def run(source: str, lists: dict[str, list[float]]) -> None:
    """Define ``kernel`` by its source and call it on lists."""
    names: dict[str, Any] = {"math": math}
    exec(source, names)  # noqa: S102 - code that was generated is there to be run
    names["kernel"](lists)


def test_the_source_is_run_on_plain_lists() -> None:
    """It is loops over floats, without any help from torch."""
    memory = storage("x", "row")
    x, row = memory["x"].reshape(3, 4), memory["row"][:4]
    kernel = pointwise("mul", pointwise("exp", X), pointwise("sub", ROW, constant(0.5)))

    torch.testing.assert_close(executed(kernel, memory), x.exp() * (row - 0.5))
    torch.testing.assert_close(executed(constant(3.0), memory), torch.tensor(3.0).double())
    assert (0, 4) == executed(Pointwise((0, 4), X.make_loader()), memory).shape, (
        "ranges (0, 4) hold no element, so nothing should be stored"
    )


def test_the_source_of_a_reduction() -> None:
    """The total starts anew for each element, and is stored after the inner loops."""
    memory = storage("x")
    x = memory["x"].reshape(3, 4)
    load = X.make_loader()
    cases = {
        "sum": (row_reduction("sum", X), x.sum(1)),
        "max of negative numbers": (
            row_reduction("max", pointwise("neg", pointwise("exp", X))),
            (-x.exp()).amax(1),
        ),
        "max of minus infinity": (
            Reduction((2,), (3,), "max", lambda index, rindex: ops.constant(-math.inf)),
            torch.full((2,), -math.inf, dtype=torch.float64),
        ),
        "sum of nothing": (
            Reduction((2,), (0,), "sum", lambda index, rindex: ops.constant(1.0)),
            torch.zeros(2, dtype=torch.float64),
        ),
        "two loops": (Reduction((), (3, 4), "sum", lambda _, rindex: load(rindex)), x.sum()),
        "the outer dim": (
            Reduction((4,), (3,), "max", lambda index, rindex: load([*rindex, *index])),
            x.amax(0),
        ),
    }
    for what, (kernel, expected) in cases.items():
        got = executed(kernel, memory)
        torch.testing.assert_close(
            got,
            expected,
            msg=lambda text, what=what, got=got, expected=expected: (
                f"{what}: yours is {got.tolist()}, expected {expected.tolist()}; the total starts "
                f"anew for each element, and is stored when its loops are done\n{text}"
            ),
        )


def test_the_output_has_strides() -> None:
    """The result is stored where the output's indexer says: here in a column of a larger matrix."""
    memory = {"x": list(range(12)), "out": [-1.0] * 8}
    source = to_python(row_reduction("sum", X), Buffer("out", (3,), (2,)))
    run(source, memory)

    assert [6.0, -1.0, 22.0, -1.0, 38.0, -1.0, -1.0, -1.0] == memory["out"], (
        f"your output is {memory['out']}: it has stride 2, so the sums are at 0, 2 and 4, and "
        f"everything between them stays -1"
    )
    memory = {"x": list(range(12)), "out": [-1.0] * 12}
    run(to_python(pointwise("neg", X), Buffer("out", (3, 4), (1, 3))), memory)
    assert [0, -4, -8, -1, -5, -9, -2, -6, -10, -3, -7, -11] == memory["out"], (
        f"your output is {memory['out']}: it has strides (1, 3), so element (i, j) goes to i + 3*j"
    )


def test_two_zeros_are_two_constants() -> None:
    """They compare equal, but 1 divided by them is not the same."""
    kernel = pointwise("where", pointwise("ge", ROW, constant(0.0)), constant(0.0), constant(-0.0))
    memory = {"row": torch.tensor([1.0, -1.0, 2.0, -2.0], dtype=torch.float64)}
    got = executed(kernel, memory).signbit().tolist()

    assert [False, True, False, True] == got, "0.0 and -0.0 became one value"
    infinite = pointwise("maximum", ROW, constant(-math.inf))
    torch.testing.assert_close(executed(infinite, memory), memory["row"])


def test_the_source_computes_once_what_is_used_twice() -> None:
    """A chain y = y + y of five steps: 63 calls, only 5 of them distinct additions."""
    chain: Buffer | Pointwise = X
    for _ in range(5):
        chain = pointwise("add", chain, chain)
    tree = ast.parse(to_python(chain, Buffer("out", (3, 4), (4, 1))))
    additions = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    sums = sum(isinstance(node.value, ast.BinOp) for node in additions)
    loads = sum(isinstance(node.value, ast.Subscript) for node in additions)
    assert 5 == sums, f"the loops hold {sums} additions, expected 5"
    assert 1 == loads, f"x is read {loads} times in an iteration, expected once"


def test_the_source_is_made_of_loops_and_numbers() -> None:
    """It has one loop for each variable, in order, one store, no import and no foreign name."""
    kernel = row_reduction("sum", pointwise("exp", pointwise("add", X, ROW)))
    tree = ast.parse(to_python(kernel, Buffer("out", (3,), (1,))))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    assert [3, 4] == [ast.literal_eval(node.iter.args[0]) for node in loops], (
        "expected loops over range(3) and range(4), in this order"
    )

    nodes = list(ast.walk(tree))
    assert not [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)], (
        "the source imports something, but math is already available"
    )
    assert not [node for node in nodes if isinstance(node, ast.While | ast.comprehension)], (
        "the source has a while or a comprehension, expected one `for` statement for each loop"
    )
    own = {node.id for node in nodes if isinstance(node, ast.Name)}
    own -= {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    foreign = own - {"memory", "math", "range", "float", "max", "min", "abs"}
    assert not foreign, f"{sorted(foreign)}: the source may use only memory, math and builtins"
    exps = sum(isinstance(node, ast.Attribute) and node.attr == "exp" for node in nodes)
    assert 1 == exps, "expected the body once, inside the loops: do not unroll them"
    stored = [
        node
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    assert 1 == len(stored), "expected one store, once for each element, after its reduction"
    inner = [node for node in ast.walk(loops[1]) if node is stored[0]]
    assert not inner, "store the total after the inner loop, not in it"


FOUR: dict[str, Callable[[Pointwise], Any]] = {
    "to_python": lambda kernel: to_python(kernel, Buffer("out", (3, 4), (4, 1))),
}


@pytest.mark.parametrize("name", FOUR)
def test_the_body_runs_once(name: str) -> None:
    """The body is not run once for each element: one run describes all elements."""
    runs = []

    def body(index: Sequence[Any]) -> Any:
        runs.append(len(index))
        return X.make_loader()(index)

    FOUR[name](Pointwise((3, 4), body))

    assert [2] == runs, (
        f"{name} ran the body {len(runs)} times, with {runs} variables, expected once, with 2"
    )


@pytest.mark.parametrize("name", FOUR)
def test_no_handler_is_left_behind(name: str) -> None:
    """Even if the body raises, the handler is removed and the previous one restored."""

    def body(index: Sequence[Any]) -> Any:
        ops.constant(1.0)
        raise ValueError("in the body")

    with handling(Texts()):
        with pytest.raises(ValueError, match="in the body"):
            FOUR[name](Pointwise((3, 4), body))
        assert "neg(1)" == ops.neg(1), f"{name} leaves its handler installed when a body raises"
        FOUR[name](Pointwise((3, 4), X.make_loader()))
        assert "neg(1)" == ops.neg(1), f"{name} leaves its handler installed"


UNARY = ("neg", "abs", "tanh", "erf")


BINARY = ("add", "sub", "mul", "maximum", "minimum")


@st.composite
def programs(draw: st.DrawFn) -> tuple[Any, dict[str, torch.Tensor], torch.Tensor]:
    """Draw a kernel over broadcast and permuted buffers, with its memory and torch's result."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    memory: dict[str, torch.Tensor] = {}
    values: list[tuple[Buffer | Pointwise, torch.Tensor]] = []
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    for name in "xy":
        kept = sizes[draw(st.integers(0, len(sizes) - 1)) :]
        size = tuple(draw(st.sampled_from((n, 1))) for n in kept)
        stride = tuple(draw(st.integers(0, 3)) for _ in size)
        memory[name] = torch.randn(12 + 1, generator=generator, dtype=torch.float64)
        values.append((Buffer(name, size, stride), memory[name].as_strided(size, stride)))
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(UNARY + BINARY))
        chosen = [draw(st.sampled_from(values)) for _ in range(1 + (name in BINARY))]
        function = getattr(torch, name) if hasattr(torch, name) else getattr(torch.special, name)
        result = function(*(tensor for _, tensor in chosen))
        values.append((pointwise(name, *(loops for loops, _ in chosen)), result))
    loops, expected = values[-1]
    if draw(st.booleans()):
        loops, expected = transposed(loops), expected.permute(*range(expected.dim())[::-1])
    kind = draw(st.sampled_from(("none", "sum", "max")))
    if kind != "none":
        loops = row_reduction(kind, loops)
        expected = expected.sum(-1) if kind == "sum" else expected.amax(-1)
    return loops, memory, expected


@given(data=st.data())
def test_any_program(data: st.DataObject) -> None:
    """Its source computes what torch does; nothing of Inductor is called."""
    kernel, memory, expected = data.draw(programs())
    torch.testing.assert_close(executed(kernel, memory), expected)


def test_the_source_reads_so() -> None:
    """The source is that of the brief, word for word except for the names of values."""
    source = to_python(row_reduction("sum", pointwise("add", X, ROW)), Buffer("out", (3,), (1,)))

    assert_expected_inline(
        ast.unparse(ast.parse(source)),
        """\
def kernel(memory):
    for i0 in range(3):
        total = 0.0
        for r0 in range(4):
            tmp0 = memory['x'][4 * i0 + r0]
            tmp1 = memory['row'][r0]
            tmp2 = tmp0 + tmp1
            total = total + tmp2
        memory['out'][i0] = total""",
    )
