"""Tests of k28_loops: loaders, bodies, and the handler that prints."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
from expecttest import assert_expected_inline

import katas.lecture10.k28_loops as kata
from katas.lecture10.k28_loops import Buffer
from katas.lecture10.k28_loops import Pointwise
from katas.lecture10.k28_loops import pointwise
from katas.lecture10.k28_loops import to_text
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import ops
from katas.lecture10.loops import symbols
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

X = Buffer("x", (3, 4), (4, 1))


ROW = Buffer("row", (4,), (1,))


COLUMN = Buffer("column", (3, 1), (1, 1))


COLUMN_AS_ROW = Buffer("column", (1, 3), (5, 1))


Y = Buffer("y", (3, 4), (4, 1))


class Texts(Handler):
    """A value is the whole expression, as text: the oracle for what a body computes."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def default(self, name: str, args: tuple[Any, ...]) -> str:
        """Record the expression and return it."""
        self.calls.append(f"{name}({', '.join(map(str, args))})")
        return self.calls[-1]


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


def expression(x: Buffer | Pointwise) -> str:
    """Return the expression that a loader gives at ``i0, i1, ...``."""
    load = x.make_loader()
    with handling(Texts()):
        return load(symbols(Pointwise(x.size, load)))


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
        assert expected == got, (
            f"size {buffer.size}, stride {buffer.stride}: you ask for {got}, expected {expected}"
        )
    assert 6 == X.indexer([1, 2]), "an index of numbers should give a number, here 6"


def test_loops_are_loaded_by_computing() -> None:
    """The loader of a Pointwise runs its body; nothing of that name is loaded."""
    negative = Pointwise((3, 4), lambda index: ops.neg(ops.load("x", 4 * index[0] + index[1])))

    assert "neg(load(x, 4*i0 + i1))" == expression(negative), (
        f"your code asks for {expression(negative)}, expected neg(load(x, 4*i0 + i1)): the loader "
        "of a Pointwise runs its body at the index"
    )


def test_an_operation_asks_its_inputs_in_order() -> None:
    """Nothing is asked before a handler runs the body."""
    kernel = pointwise("sub", X, Y)

    assert (3, 4) == kernel.ranges, (
        f"the loops are {kernel.ranges}, expected (3, 4), the size of the inputs"
    )
    assert "sub(load(x, 4*i0 + i1), load(y, 4*i0 + i1))" == expression(kernel), (
        f"your body asks for {expression(kernel)}, expected sub(load(x, 4*i0 + i1), load(y, 4*i0 "
        "+ i1)): the inputs in order, each by its loader"
    )


def test_a_producer_is_inlined() -> None:
    """The producer's value goes straight from call to call: there is no load in between."""
    kernel = pointwise("exp", pointwise("sub", X, constant(1.0)))
    got = expression(kernel)

    assert "exp(sub(load(x, 4*i0 + i1), constant(1.0)))" == got, (
        f"your code asks for {got}: the value of sub goes straight into exp"
    )


def test_inputs_are_broadcast_by_their_index() -> None:
    """A missing dim takes no entry of the index; a dim of size 1 is read at 0."""
    kernel = pointwise("add", ROW, pointwise("neg", COLUMN))
    got = expression(kernel)

    assert (3, 4) == kernel.ranges, f"(4,) and (3, 1) broadcast to (3, 4), not {kernel.ranges}"
    assert "add(load(row, i1), neg(load(column, i0)))" == got, (
        f"you ask for {got}: expected i1 for the last dim of each, and 0 for a dim of size 1"
    )
    ones = pointwise("mul", Buffer("one", (1, 1), (7, 5)), X)
    assert "mul(load(one, 0), load(x, 4*i0 + i1))" == expression(ones), (
        f"you ask for {expression(ones)}: a dim of size 1 is read at 0, whatever its stride"
    )
    empty = pointwise("add", Buffer("none", (0, 4), (4, 1)), Buffer("row", (1, 4), (4, 1)))
    assert (0, 4) == empty.ranges, f"(0, 4) and (1, 4) broadcast to (0, 4), not {empty.ranges}"


def test_a_view_is_another_index() -> None:
    """What is transposed both before and after an operation is loaded as it is in memory."""
    kernel = transposed(pointwise("add", transposed(X), COLUMN_AS_ROW))

    assert "add(load(x, 4*i0 + i1), load(column, i0))" == expression(kernel), (
        f"you ask for {expression(kernel)}: transposed twice, x should be loaded as it is in memory"
    )


def test_the_body_is_printed_line_by_line() -> None:
    """The numerator of a softmax: exp(x / 2 - largest)."""
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
    """The reduction itself is not printed, since it is not part of the body."""
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
    ), (
        f"your text is\n{to_text(constant(-0.0))}\nbut should be a function without arguments that "
        f"returns one constant, tmp0"
    )

    lines = to_text(pointwise("add", constant(1.0), constant(1.0))).splitlines()
    assert 3 == len(lines[1:-1]), (
        f"two constants and an add are three calls, expected three lines: {lines}"
    )

    def body(index: Sequence[Any]) -> Any:
        first = ops.load("x", index[0])
        ops.neg(first)
        return first

    assert "    return tmp0" == to_text(Pointwise((3,), body)).splitlines()[-1], (
        f"your text ends in {to_text(Pointwise((3,), body)).splitlines()[-1]!r}: this body returns "
        f"its first value, tmp0, not its last"
    )


FOUR: dict[str, Callable[[Pointwise], Any]] = {"to_text": to_text}


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


@pytest.mark.filterwarnings("ignore:undefined OpHandler")  # it is inspected, not used
def test_nothing_of_inductor_is_called() -> None:
    """Inductor's handlers may not be called: you are writing them."""
    modules = ("ir", "loop_body", "dependencies", "ops_handler", "virtualized")
    names = ("torch._inductor", *(f"torch._inductor.{module}" for module in modules))
    with forbids(kata, *names) as fresh:
        x, row = fresh.Buffer("x", (3, 4), (4, 1)), fresh.Buffer("row", (4,), (1,))
        text = fresh.to_text(fresh.pointwise("add", x, row))

    assert "    tmp2 = ops.add(tmp0, tmp1)" in text, (
        f"your text is\n{text}\nbut should add tmp0 and tmp1"
    )
