"""Tests of k13_loop_ir: inlining, four handlers, and the loops of a transformer layer."""

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
from torch.fx import Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend
from torch.nn.attention import sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

import katas.lecture10.k13_loop_ir as kata
from katas.lecture10.k13_loop_ir import Buffer
from katas.lecture10.k13_loop_ir import Handler
from katas.lecture10.k13_loop_ir import Pointwise
from katas.lecture10.k13_loop_ir import Reduction
from katas.lecture10.k13_loop_ir import count
from katas.lecture10.k13_loop_ir import evaluate
from katas.lecture10.k13_loop_ir import handling
from katas.lecture10.k13_loop_ir import ops
from katas.lecture10.k13_loop_ir import pointwise
from katas.lecture10.k13_loop_ir import symbols
from katas.lecture10.k13_loop_ir import to_python
from katas.lecture10.k13_loop_ir import to_text
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


X = Buffer("x", (3, 4), (4, 1))
ROW = Buffer("row", (4,), (1,))
COLUMN = Buffer("column", (3, 1), (1, 1))
COLUMN_AS_ROW = Buffer("column", (1, 3), (5, 1))
Y = Buffer("y", (3, 4), (4, 1))
ROW_OF_Y = Buffer("y", (4,), (1,))


class Texts(Handler):
    """A value is the whole expression, as text: the oracle for what a body asks for."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Note the expression and return it."""
        self.calls.append(f"{name}({', '.join(map(str, args))})")
        return self.calls[-1]


class Operators(TorchDispatchMode):
    """The operators that run, and the elements of the largest result."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.largest = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Note the operator, and go on."""
        result = func(*args, **(kwargs or {}))
        self.names.append(str(func).split(".")[1])
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.numel())
        return result


def storage(*names: str) -> dict[str, torch.Tensor]:
    """Return a flat tensor of twelve numbers for each name."""
    return {name: torch.randn(12, dtype=torch.float64) for name in names}


def constant(value: float) -> Pointwise:
    """Return the loops, none, whose value is a constant."""
    return Pointwise((), lambda _: ops.constant(value))


def row_reduction(kind: str, x: Buffer | Pointwise) -> Reduction:
    """Return the reduction of a tensor along its last dim."""
    load = x.make_loader()
    return Reduction(x.size[:-1], x.size[-1:], kind, lambda index, rindex: load([*index, *rindex]))


def transposed(x: Buffer | Pointwise) -> Pointwise:
    """Return a tensor with its dims in reverse: no data moves, an index is asked for otherwise."""
    load = x.make_loader()
    return Pointwise(x.size[::-1], lambda index: load(index[::-1]))


def expression(x: Buffer | Pointwise) -> str:
    """Return what a loader asks for at ``i0, i1, ...``."""
    load = x.make_loader()
    with handling(Texts()):
        return load(symbols(Pointwise(x.size, load)))


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


@pytest.mark.given
def test_a_body_means_nothing_without_a_handler() -> None:
    """The same body, under two handlers; and under none, which is an error."""

    def body() -> Any:
        return ops.neg(ops.load("x", 3))

    with handling(Texts()):
        assert "neg(load(x, 3))" == body()
    with pytest.raises(RuntimeError, match="no handler is installed"):
        body()


@pytest.mark.given
def test_loops_are_values() -> None:
    """Frozen, so that they can be keys; the same fields make the same buffer, or loops."""
    assert 1 == len({X, Buffer("x", (3, 4), (4, 1))})
    assert 1 == len({Pointwise((3,), len), Pointwise((3,), len)})


def test_a_buffer_is_loaded_at_index_times_stride() -> None:
    """Contiguous, transposed, broadcast by stride 0, and without dims."""
    cases = {
        "load(x, 4*i0 + i1)": X,
        "load(x, i0 + 3*i1)": Buffer("x", (3, 4), (1, 3)),
        "load(x, i1)": Buffer("x", (3, 4), (0, 1)),
        "load(x, 0)": Buffer("x", (), ()),
    }
    for expected, buffer in cases.items():
        got = expression(buffer)
        assert expected == got, f"size {buffer.size}, stride {buffer.stride}: {got}"
    assert 6 == X.indexer([1, 2]), "numbers give a number, for the same strides"


def test_loops_are_loaded_by_computing() -> None:
    """The loader of a Pointwise asks for what its body asks for; nothing called it is loaded."""
    negative = Pointwise((3, 4), lambda index: ops.neg(ops.load("x", 4 * index[0] + index[1])))

    assert "neg(load(x, 4*i0 + i1))" == expression(negative)


def test_an_operation_asks_its_inputs_in_order() -> None:
    """And nobody before a handler runs the body."""
    kernel = pointwise("sub", X, Y)

    assert (3, 4) == kernel.ranges, f"the loops are {kernel.ranges}, the inputs have size (3, 4)"
    assert "sub(load(x, 4*i0 + i1), load(y, 4*i0 + i1))" == expression(kernel)


def test_a_producer_is_inlined() -> None:
    """Its value goes from call to call: no load and no name stands between them."""
    kernel = pointwise("exp", pointwise("sub", X, constant(1.0)))
    got = expression(kernel)

    assert "exp(sub(load(x, 4*i0 + i1), constant(1.0)))" == got, got


def test_inputs_are_broadcast_by_their_index() -> None:
    """A missing dim takes no entry of the index; a dim of size 1 is asked for at 0."""
    kernel = pointwise("add", ROW, pointwise("neg", COLUMN))
    got = expression(kernel)

    assert (3, 4) == kernel.ranges, f"(4,) and (3, 1) give (3, 4), not {kernel.ranges}"
    assert "add(load(row, i1), neg(load(column, i0)))" == got, got
    ones = pointwise("mul", Buffer("one", (1, 1), (7, 5)), X)
    assert "mul(load(one, 0), load(x, 4*i0 + i1))" == expression(ones), expression(ones)
    empty = pointwise("add", Buffer("none", (0, 4), (4, 1)), Buffer("row", (1, 4), (4, 1)))
    assert (0, 4) == empty.ranges, f"(0, 4) and (1, 4) give (0, 4), not {empty.ranges}"


def test_a_view_is_another_index() -> None:
    """What is transposed before and after an operation is loaded as it lies in memory."""
    kernel = transposed(pointwise("add", transposed(X), COLUMN_AS_ROW))

    assert "add(load(x, 4*i0 + i1), load(column, i0))" == expression(kernel), expression(kernel)


def test_the_body_is_printed_line_by_line() -> None:
    """A numerator of a softmax: exp(x / 2 - largest)."""
    largest = Buffer("largest", (3, 1), (1, 1))
    half = pointwise("mul", X, constant(0.5))
    kernel = pointwise("exp", pointwise("sub", half, largest))
    assert_expected_inline(
        to_text(kernel),
        """\
def inner_fn(i0, i1):
    tmp0 = ops.load(x, 4*i0 + i1)
    tmp1 = ops.constant(0.5)
    tmp2 = ops.mul(tmp0, tmp1)
    tmp3 = ops.load(largest, i0)
    tmp4 = ops.sub(tmp2, tmp3)
    tmp5 = ops.exp(tmp4)
    return tmp5""",
    )


def test_a_reduction_is_printed_with_its_own_variables() -> None:
    """And without the reduction, which is no part of the body."""
    kernel = row_reduction("sum", pointwise("mul", X, X))
    assert_expected_inline(
        to_text(kernel),
        """\
def inner_fn(i0, r0):
    tmp0 = ops.load(x, 4*i0 + r0)
    tmp1 = ops.load(x, 4*i0 + r0)
    tmp2 = ops.mul(tmp0, tmp1)
    return tmp2""",
    )


def test_the_smallest_bodies() -> None:
    """A constant without loops, and a body that returns what it computed first."""
    assert "def inner_fn():\n    tmp0 = ops.constant(-0.0)\n    return tmp0" == to_text(
        constant(-0.0)
    )

    lines = to_text(pointwise("add", constant(1.0), constant(1.0))).splitlines()
    assert 3 == len(lines[1:-1]), f"two constants and an add are three calls: {lines}"

    def body(index: Sequence[Any]) -> Any:
        first = ops.load("x", index[0])
        ops.neg(first)
        return first

    assert "    return tmp0" == to_text(Pointwise((3,), body)).splitlines()[-1]


def test_a_kernel_is_evaluated() -> None:
    """Every operation of the table, against torch."""
    memory = storage("x", "y")
    x, y = memory["x"].reshape(3, 4), memory["y"].reshape(3, 4)
    cases: dict[str, torch.Tensor] = {
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "truediv": x / y,
        "maximum": torch.maximum(x, y),
        "minimum": torch.minimum(x, y),
        "neg": -x,
        "abs": x.abs(),
        "exp": x.exp(),
        "tanh": x.tanh(),
        "erf": x.erf(),
    }
    for name, expected in cases.items():
        inputs = (X, Y) if name in {"add", "sub", "mul", "truediv", "maximum", "minimum"} else (X,)
        check(pointwise(name, *inputs), memory, expected, name)
    check(
        pointwise("where", pointwise("ge", X, Y), X, ROW_OF_Y), memory, torch.where(x >= y, x, y[0])
    )
    check(pointwise("log", pointwise("abs", X)), memory, x.abs().log())
    check(pointwise("sqrt", pointwise("abs", X)), memory, x.abs().sqrt())


def check(
    kernel: Pointwise | Reduction,
    memory: dict[str, torch.Tensor],
    expected: torch.Tensor,
    what: str = "",
) -> None:
    """Assert that a kernel evaluates to a tensor."""
    with unchanged(memory=memory):
        got = evaluate(kernel, memory)
    assert expected.shape == got.shape, f"{what}: sizes {list(got.shape)}, not {expected.shape}"
    # All data is float64: what went through float32 differs by 1e-8.
    torch.testing.assert_close(
        got, expected, rtol=1e-12, atol=1e-12, msg=lambda text: f"{what}: {text}"
    )


def test_a_result_has_the_size_of_the_loops() -> None:
    """Also if the body depends on one loop, or none; it is new memory, and contiguous."""
    memory = storage("x")
    column = Pointwise((3, 4), lambda index: ops.load("x", index[0]))
    check(column, memory, memory["x"][:3, None].expand(3, 4), "one of two loops")
    sevens = Pointwise((2, 3), lambda index: ops.constant(7.0))
    check(sevens, memory, torch.full((2, 3), 7.0, dtype=torch.float64), "a constant")
    first = Buffer("x", (), ())
    check(Pointwise((), first.make_loader()), memory, memory["x"][0], "no loops")
    check(Pointwise((0, 4), X.make_loader()), memory, memory["x"][:0].reshape(0, 4), "no iteration")

    for kernel in (column, sevens, Pointwise((), first.make_loader()), transposed(X)):
        before = memory["x"].clone()
        got = evaluate(kernel, memory)
        assert got.is_contiguous(), "a kernel fills a contiguous buffer"
        got.zero_()
        assert torch.equal(before, memory["x"]), (
            "the result is a view of the memory it was read from"
        )
    assert {"x"} == memory.keys(), (
        "the result is returned; where it goes is not evaluate's business"
    )


def test_a_reduction_is_evaluated() -> None:
    """Over the inner loops alone, one or two of them, the body evaluated for all."""
    memory = storage("x")
    x = memory["x"].reshape(3, 4)
    check(row_reduction("sum", X), memory, x.sum(1), "sum")
    check(row_reduction("max", pointwise("neg", X)), memory, (-x).amax(1), "max")
    load = X.make_loader()
    both = Reduction((), (3, 4), "max", lambda _, rindex: load(rindex))
    check(both, memory, x.max(), "over two loops")
    swapped = Reduction((4,), (3,), "sum", lambda index, rindex: load([*rindex, *index]))
    check(swapped, memory, x.sum(0), "along the other dim")
    ones = Reduction((3,), (4, 2), "sum", lambda index, rindex: ops.constant(1.0))
    check(ones, memory, torch.full((3,), 8.0, dtype=torch.float64), "eight iterations each add 1")


def test_evaluation_is_one_call_for_each_operation() -> None:
    """Twelve elements, one exp; and no tensor larger than the loops."""
    kernel = pointwise("exp", pointwise("maximum", pointwise("tanh", X), ROW))
    memory = storage("x", "row")
    with Operators() as log:
        evaluate(kernel, memory)

    for name in ("exp", "maximum", "tanh"):
        got = log.names.count(name)
        assert 1 == got, f"{name} ran {got} times: a value stands for all iterations at once"
    assert 12 >= log.largest, f"a tensor of {log.largest} elements, for loops of 12 iterations"

    twice = pointwise("exp", X)
    with Operators() as log:
        evaluate(pointwise("add", twice, twice), memory)
    got = log.names.count("exp")
    assert 2 == got, f"the body calls exp twice, and it ran {got} times"


def test_calls_are_counted_once() -> None:
    """In x * x + exp(x * x) - 1, the product is computed once, and x is read once."""
    square = pointwise("mul", X, X)
    kernel = pointwise("sub", pointwise("add", square, pointwise("exp", square)), constant(1.0))
    got = count(kernel)

    assert 4 * 12 == got.flops, f"mul, add, exp, sub for 12 elements: 48, not {got.flops}"
    i0, i1 = symbols(kernel)
    assert {("x", 4 * i0 + i1)} == set(got.reads), "a place that is read twice is one read"
    assert 8 * (12 + 12) == got.bytes, f"12 elements read, 12 written: 192 bytes, not {got.bytes}"


def test_the_place_is_a_part_of_a_read() -> None:
    """One tensor and its transpose are two reads, and so are two additions of them."""
    square = Buffer("x", (3, 3), (3, 1))
    kernel = pointwise("add", pointwise("neg", square), pointwise("neg", transposed(square)))
    i0, i1 = symbols(kernel)
    got = count(kernel)

    assert {("x", 3 * i0 + i1), ("x", i0 + 3 * i1)} == set(got.reads), (
        "a read is a name and a place: here are two places"
    )
    assert 3 * 9 == got.flops, f"two neg and an add for 9 elements: 27, not {got.flops}"
    assert 8 * (9 + 9 + 9) == got.bytes, "two reads of the same buffer are two streams of data"

    product_of = Pointwise((3, 3), lambda index: ops.load("x", index[0] * (index[1] + 1)))
    reads = count(product_of).reads
    assert {("x", i0 * (i1 + 1))} == set(reads), f"the place as the body gives it, not {reads}"


def test_what_a_loop_does_not_move_is_read_once() -> None:
    """A row of 4 is 4 reads for 12 elements, and a place without variables is one."""
    kernel = pointwise("add", pointwise("add", X, ROW), Buffer("one", (1, 1), (1, 1)))
    got = count(kernel)

    assert 8 * (12 + 4 + 1 + 12) == got.bytes, f"x, row, one, result: 232 bytes, not {got.bytes}"
    assert ("one", 0) in got.reads, f"place 0 is read, though no loop moves it: {got.reads}"
    assert 8 * 12 == count(Pointwise((3, 4), lambda _: ops.constant(1.0))).bytes, (
        "nothing is read, 12 elements are written"
    )
    assert 0 == count(Pointwise((3, 4), lambda _: ops.constant(1.0))).flops, (
        "a constant is no operation"
    )


def test_the_order_of_arguments_makes_another_call() -> None:
    """Of a difference, and of a sum as well: a handler knows no algebra."""
    for name in ("sub", "add"):
        kernel = pointwise("mul", pointwise(name, X, Y), pointwise(name, Y, X))
        got = count(kernel).flops
        assert 3 * 12 == got, f"{name}(x, y), {name}(y, x), mul: 36 flops, not {got}"


def test_a_choice_is_counted_as_a_call() -> None:
    """Whatever is no load and no constant costs something: ge and where too."""
    got = count(pointwise("where", pointwise("ge", X, Y), X, Y)).flops

    assert 2 * 12 == got, f"ge and where for 12 elements: 24, not {got}"


def test_bytes_are_those_of_the_loops_not_of_the_places() -> None:
    """A place may leave gaps or come again: what counts is how often the loops move it."""
    cases = {
        "with gaps between its elements": Buffer("x", (3, 4), (20, 5)),
        "with windows that overlap": Buffer("x", (3, 4), (1, 1)),
    }
    for what, buffer in cases.items():
        got = count(pointwise("neg", buffer)).bytes
        assert 8 * (12 + 12) == got, f"a read {what} is 12 reads, of 8 bytes each; not {got - 96}"
    eleven = Pointwise((1, 3, *[1] * 8, 2), lambda index: ops.load("x", index[10]))
    got = count(eleven).bytes
    assert 8 * (2 + 6) == got, (
        f"i10 moves the place, i1 does not: 16 bytes are read, not {got - 48}"
    )


def test_a_reduction_counts_its_steps() -> None:
    """One for each iteration of all loops; it writes an element for each of the outer ones."""
    got = count(row_reduction("sum", pointwise("mul", X, ROW)))

    assert 2 * 12 == got.flops, f"a mul and a step for 12 iterations: 24, not {got.flops}"
    assert 8 * (12 + 4 + 3) == got.bytes, f"x, row and 3 results: 152 bytes, not {got.bytes}"


def test_the_source_is_run_on_plain_lists() -> None:
    """Loops over floats; torch is not there to help."""
    memory = storage("x", "row")
    x, row = memory["x"].reshape(3, 4), memory["row"][:4]
    kernel = pointwise("mul", pointwise("exp", X), pointwise("sub", ROW, constant(0.5)))

    torch.testing.assert_close(executed(kernel, memory), x.exp() * (row - 0.5))
    torch.testing.assert_close(executed(constant(3.0), memory), torch.tensor(3.0).double())
    assert (0, 4) == executed(Pointwise((0, 4), X.make_loader()), memory).shape


def test_the_source_of_a_reduction() -> None:
    """It begins anew for each element, and stores behind the inner loops."""
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
        torch.testing.assert_close(got, expected, msg=lambda text, what=what: f"{what}: {text}")


def test_the_output_has_strides() -> None:
    """A store goes where the output's indexer says: here a column of a larger matrix."""
    memory = {"x": list(range(12)), "out": [-1.0] * 8}
    source = to_python(row_reduction("sum", X), Buffer("out", (3,), (2,)))
    run(source, memory)

    assert [6.0, -1.0, 22.0, -1.0, 38.0, -1.0, -1.0, -1.0] == memory["out"], (
        "the output has stride 2: what lies between stays -1"
    )
    memory = {"x": list(range(12)), "out": [-1.0] * 12}
    run(to_python(pointwise("neg", X), Buffer("out", (3, 4), (1, 3))), memory)
    assert [0, -4, -8, -1, -5, -9, -2, -6, -10, -3, -7, -11] == memory["out"]


def test_two_zeros_are_two_constants() -> None:
    """They compare equal, but 1 divided by them is not the same."""
    kernel = pointwise("where", pointwise("ge", ROW, constant(0.0)), constant(0.0), constant(-0.0))
    memory = {"row": torch.tensor([1.0, -1.0, 2.0, -2.0], dtype=torch.float64)}
    got = executed(kernel, memory).signbit().tolist()

    assert [False, True, False, True] == got, "0.0 and -0.0 became one value"
    assert [False, True, False, True] == evaluate(kernel, memory).signbit().tolist(), (
        "0.0 and -0.0 have other sign bits: they are two constants"
    )
    infinite = pointwise("maximum", ROW, constant(-math.inf))
    torch.testing.assert_close(executed(infinite, memory), memory["row"])


def test_the_source_computes_once_what_is_used_twice() -> None:
    """A chain y = y + y of five steps: 63 calls, 5 of them additions of something new."""
    chain: Buffer | Pointwise = X
    for _ in range(5):
        chain = pointwise("add", chain, chain)
    lines = len(to_text(chain).splitlines()) - 2
    assert 32 + 31 == lines, f"the body makes 32 loads and 31 additions, not {lines} calls"
    assert 5 * 12 == count(chain).flops, "5 additions for each element are distinct"

    tree = ast.parse(to_python(chain, Buffer("out", (3, 4), (4, 1))))
    additions = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    sums = sum(isinstance(node.value, ast.BinOp) for node in additions)
    loads = sum(isinstance(node.value, ast.Subscript) for node in additions)
    assert 5 == sums, f"{sums} additions in the loops, not 5"
    assert 1 == loads, f"x is read {loads} times in an iteration, not once"


def test_the_source_is_made_of_loops_and_numbers() -> None:
    """One loop for each variable, in order; one store; no import and no foreign name."""
    kernel = row_reduction("sum", pointwise("exp", pointwise("add", X, ROW)))
    tree = ast.parse(to_python(kernel, Buffer("out", (3,), (1,))))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    assert [3, 4] == [ast.literal_eval(node.iter.args[0]) for node in loops], "range(3): range(4):"

    nodes = list(ast.walk(tree))
    assert not [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [node for node in nodes if isinstance(node, ast.While | ast.comprehension)]
    own = {node.id for node in nodes if isinstance(node, ast.Name)}
    own -= {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    foreign = own - {"memory", "math", "range", "float", "max", "min", "abs"}
    assert not foreign, f"{sorted(foreign)}: the source works on memory, with math, alone"
    exps = sum(isinstance(node, ast.Attribute) and node.attr == "exp" for node in nodes)
    assert 1 == exps, "the body stands once, in the loops: they are not unrolled"
    stored = [
        node
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    assert 1 == len(stored), "memory is written once for each element, after its reduction"
    inner = [node for node in ast.walk(loops[1]) if node is stored[0]]
    assert not inner, "the store stands behind the inner loop, not in it"


FOUR: dict[str, Callable[[Pointwise], Any]] = {
    "evaluate": lambda kernel: evaluate(kernel, {"x": torch.ones(12, dtype=torch.float64)}),
    "to_text": to_text,
    "count": count,
    "to_python": lambda kernel: to_python(kernel, Buffer("out", (3, 4), (4, 1))),
}


@pytest.mark.parametrize("name", FOUR)
def test_the_body_runs_once(name: str) -> None:
    """Not once for each element: what a body says holds for all of them."""
    runs = []

    def body(index: Sequence[Any]) -> Any:
        runs.append(len(index))
        return X.make_loader()(index)

    FOUR[name](Pointwise((3, 4), body))

    assert [2] == runs, f"{name} ran the body {len(runs)} times, with {runs} variables"


@pytest.mark.parametrize("name", FOUR)
def test_no_handler_is_left_behind(name: str) -> None:
    """Also if the body raises; and a handler that was there before is there again."""

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
    """Draw a kernel over broadcast and permuted buffers, its memory, and what torch computes."""
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
    """Evaluated, and run from its source: what torch computes; counted: what a body asks for."""
    kernel, memory, expected = data.draw(programs())
    text = to_text(kernel)
    torch.testing.assert_close(evaluate(kernel, memory), expected, msg=lambda m: f"{m}\n{text}")
    torch.testing.assert_close(executed(kernel, memory), expected, msg=lambda m: f"{m}\n{text}")

    with handling(Texts()):
        kernel.body(symbols(kernel))
        calls = set(ops.handlers[-1].calls)
    reads = {call for call in calls if call.startswith("load(")}
    got = count(kernel)
    steps = len(calls - reads) + isinstance(kernel, Reduction)
    assert steps * prod(kernel.loops) == got.flops, text
    assert reads == {f"load({name}, {place})" for name, place in got.reads}, text


class Lowering(Interpreter):
    """Runs a graph of aten operators through loops where it can, by calling them where not."""

    BINARY = ("add", "sub", "mul", "div")
    UNARY = ("exp", "tanh", "neg", "erf")

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self.memory: dict[str, torch.Tensor] = {}
        self.kernels: list[Pointwise | Reduction] = []
        self.lowered = 0

    def buffer(self, tensor: torch.Tensor) -> Buffer:
        """Give a tensor a name, and its values a place in memory."""
        name = f"buf{len(self.memory)}"
        size, stride = tuple(tensor.shape), tensor.contiguous().stride()
        self.memory[name] = tensor.contiguous().reshape(-1)
        return Buffer(name, size, stride)

    def realize(self, x: Any) -> Any:
        """Turn loops into a buffer, by running them as a kernel."""
        if not isinstance(x, Pointwise | Reduction):
            return x
        self.kernels.append(x)
        return self.buffer(evaluate(x, self.memory))

    def tensor(self, x: Any) -> Any:
        """Return the tensor of a value, for an operator that is no loop."""
        if isinstance(x, Buffer | Pointwise | Reduction):
            x = self.realize(x)
            return self.memory[x.name].reshape(x.size)
        return x

    def value(self, x: Any) -> Any:
        """Return the loops of a value: a tensor is a buffer, a number a constant."""
        if isinstance(x, torch.Tensor):
            return self.buffer(x)
        return constant(float(x)) if isinstance(x, int | float) else x

    def reduce(self, kind: str, x: Any) -> Buffer:
        """Reduce the last dim, keep it with size 1, and realize the result, as Inductor does."""
        result = self.realize(row_reduction(kind, x))
        return Buffer(result.name, (*result.size, 1), (*result.stride, 1))

    def softmax(self, x: Any) -> Pointwise:
        """Three kernels: the largest, the sum, and the quotient."""
        shifted = pointwise("exp", pointwise("sub", x, self.reduce("max", x)))
        return pointwise("truediv", shifted, self.reduce("sum", shifted))

    def layer_norm(self, x: Any, sizes: Any, weight: Any, bias: Any, eps: float) -> Pointwise:
        """Three kernels: the mean, the variance, and the rest."""
        one = constant(1 / sizes[0])
        mean = pointwise("mul", self.reduce("sum", x), one)
        centred = pointwise("sub", x, mean)
        square = self.reduce("sum", pointwise("mul", centred, centred))
        variance = pointwise("add", pointwise("mul", square, one), constant(eps))
        scaled = pointwise("truediv", centred, pointwise("sqrt", variance))
        return pointwise("add", pointwise("mul", scaled, weight), bias)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Lower one node, or call it on tensors."""
        name = getattr(target, "__name__", "").split(".")[0]
        values = [self.value(x) for x in args]
        self.lowered += 1
        if name in self.BINARY + self.UNARY and not kwargs:
            return pointwise("truediv" if name == "div" else name, *values)
        if name == "relu":
            return pointwise("maximum", values[0], constant(0.0))
        if name in {"softmax", "_softmax", "_safe_softmax"}:
            return self.softmax(values[0])
        if name == "native_layer_norm":
            normal = self.layer_norm(values[0], args[1], values[2], values[3], args[4])
            return normal, None, None
        self.lowered -= 1
        if target.__module__ == "_operator":
            return target(*args)
        result = target(*(self.tensor(x) for x in args), **kwargs)
        return self.buffer(result) if isinstance(result, torch.Tensor) else result


def test_the_loops_of_a_transformer_layer(zoo: Callable[..., Any]) -> None:
    """Its softmax, layer norms, ReLU and additions as loops; matrix products are called."""
    model, (x,) = zoo("transformer")
    model, x = model.double(), x.double()
    # As it is written, not as one operator for the layer (its parameters require grad), or for
    # its attention (there is a softmax in it).
    with sdpa_kernel(SDPBackend.MATH):
        lowering = Lowering(make_fx(model)(x))
    with torch.no_grad():
        got = lowering.tensor(lowering.run(x))

    torch.testing.assert_close(got, model(x).detach())
    assert lowering.lowered >= 5, "a softmax, two norms, a ReLU, additions"
    products = [kernel for kernel in lowering.kernels if "ops.truediv" in to_text(kernel)]
    assert products, "the last steps of a softmax and of a layer norm divide"
    for kernel in products[:2]:
        torch.testing.assert_close(
            executed(kernel, lowering.memory), evaluate(kernel, lowering.memory)
        )


@pytest.mark.filterwarnings("ignore:undefined OpHandler")  # it is looked at, not used
def test_nothing_of_inductor_is_called() -> None:
    """Its handlers are what is being written here."""
    modules = ("ir", "loop_body", "dependencies", "ops_handler", "virtualized")
    names = ("torch._inductor", *(f"torch._inductor.{module}" for module in modules))
    memory = {"x": torch.ones(12).double(), "row": torch.ones(4).double()}
    with forbids(kata, *names) as fresh:
        x, row = fresh.Buffer("x", (3, 4), (4, 1)), fresh.Buffer("row", (4,), (1,))
        kernel = fresh.pointwise("add", x, row)
        value, text = fresh.evaluate(kernel, memory), fresh.to_text(kernel)
        flops = fresh.count(kernel).flops
        source = fresh.to_python(kernel, fresh.Buffer("out", (3, 4), (4, 1)))

    torch.testing.assert_close(value, torch.full((3, 4), 2.0).double())
    assert "    tmp2 = ops.add(tmp0, tmp1)" in text
    assert 12 == flops
    assert "range(3)" in source
