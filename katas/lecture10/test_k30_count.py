"""Tests of k30_count: flops, reads and bytes of kernels."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import katas.lecture10.k30_count as kata
from katas.lecture10.k30_count import count
from katas.lecture10.loops import Buffer
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Pointwise
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import ops
from katas.lecture10.loops import pointwise
from katas.lecture10.loops import symbols


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

X = Buffer("x", (3, 4), (4, 1))


ROW = Buffer("row", (4,), (1,))


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


def test_calls_are_counted_once() -> None:
    """In x * x + exp(x * x) - 1, the product is computed once, and x is read once."""
    square = pointwise("mul", X, X)
    kernel = pointwise("sub", pointwise("add", square, pointwise("exp", square)), constant(1.0))
    got = count(kernel)

    assert 4 * 12 == got.flops, (
        f"expected 48 flops, mul, add, exp and sub for 12 elements; you count {got.flops}"
    )
    i0, i1 = symbols(kernel)
    assert {("x", 4 * i0 + i1)} == set(got.reads), "an index that is read twice should be one read"
    assert 8 * (12 + 12) == got.bytes, (
        f"expected 192 bytes, for 12 elements read and 12 written; you count {got.bytes}"
    )


def test_the_place_is_a_part_of_a_read() -> None:
    """A tensor and its transpose are two reads, as they are read at different indices."""
    square = Buffer("x", (3, 3), (3, 1))
    kernel = pointwise("add", pointwise("neg", square), pointwise("neg", transposed(square)))
    i0, i1 = symbols(kernel)
    got = count(kernel)

    assert {("x", 3 * i0 + i1), ("x", i0 + 3 * i1)} == set(got.reads), (
        "a read is a name and an index: expected two reads, at two indices"
    )
    assert 3 * 9 == got.flops, (
        f"expected 27 flops, two neg and an add for 9 elements; you count {got.flops}"
    )
    assert 8 * (9 + 9 + 9) == got.bytes, (
        "expected 216 bytes: count two different reads of a buffer separately"
    )

    product_of = Pointwise((3, 3), lambda index: ops.load("x", index[0] * (index[1] + 1)))
    reads = count(product_of).reads
    assert {("x", i0 * (i1 + 1))} == set(reads), f"keep the index as the body gives it, not {reads}"


def test_what_a_loop_does_not_move_is_read_once() -> None:
    """A row of 4 is 4 reads for 12 elements, and an index without variables is one."""
    kernel = pointwise("add", pointwise("add", X, ROW), Buffer("one", (1, 1), (1, 1)))
    got = count(kernel)

    assert 8 * (12 + 4 + 1 + 12) == got.bytes, (
        f"expected 232 bytes, for x, row, one and the result; you count {got.bytes}"
    )
    assert ("one", 0) in got.reads, (
        f"index 0 is read too, though it depends on no loop: {got.reads}"
    )
    assert 8 * 12 == count(Pointwise((3, 4), lambda _: ops.constant(1.0))).bytes, (
        "expected 96 bytes: nothing is read, 12 elements are written"
    )
    assert 0 == count(Pointwise((3, 4), lambda _: ops.constant(1.0))).flops, (
        "expected 0 flops: a constant is not an operation"
    )


def test_the_order_of_arguments_makes_another_call() -> None:
    """Like x - y and y - x, x + y and y + x are two calls: a handler knows no algebra."""
    for name in ("sub", "add"):
        kernel = pointwise("mul", pointwise(name, X, Y), pointwise(name, Y, X))
        got = count(kernel).flops
        assert 3 * 12 == got, (
            f"expected 36 flops, for {name}(x, y), {name}(y, x) and mul; you count {got}"
        )


def test_a_choice_is_counted_as_a_call() -> None:
    """Whatever is not a load or a constant costs something: ge and where too."""
    got = count(pointwise("where", pointwise("ge", X, Y), X, Y)).flops

    assert 2 * 12 == got, f"expected 24 flops, ge and where for 12 elements; you count {got}"


def test_bytes_are_those_of_the_loops_not_of_the_places() -> None:
    """An index may leave gaps or repeat: what matters is how often the loops change it."""
    cases = {
        "with gaps between its elements": Buffer("x", (3, 4), (20, 5)),
        "with windows that overlap": Buffer("x", (3, 4), (1, 1)),
    }
    for what, buffer in cases.items():
        got = count(pointwise("neg", buffer)).bytes
        assert 8 * (12 + 12) == got, (
            f"a read {what} is 12 reads of 8 bytes each, 96 in all; you count {got - 96}"
        )
    eleven = Pointwise((1, 3, *[1] * 8, 2), lambda index: ops.load("x", index[10]))
    got = count(eleven).bytes
    assert 8 * (2 + 6) == got, (
        f"the index depends on i10, not on i1: expected 16 bytes read, you count {got - 48}"
    )


def test_a_reduction_counts_its_steps() -> None:
    """One step for each iteration of all loops; each iteration of the outer loops writes."""
    got = count(row_reduction("sum", pointwise("mul", X, ROW)))

    assert 2 * 12 == got.flops, (
        f"expected 24 flops, a mul and a step for 12 iterations; you count {got.flops}"
    )
    assert 8 * (12 + 4 + 3) == got.bytes, (
        f"expected 152 bytes, for x, row and 3 results; you count {got.bytes}"
    )


def test_two_zeros_are_two_constants() -> None:
    """They compare equal, but 1 divided by them is not the same."""
    handler = kata.Distinct()
    names = [handler.default("constant", (value,)) for value in (0.0, -0.0, 0.0)]

    assert ["tmp0", "tmp1", "tmp0"] == names, (
        f"0.0, -0.0 and 0.0 become {names}, expected tmp0, tmp1 and tmp0 again"
    )


FOUR: dict[str, Callable[[Pointwise], Any]] = {"count": count}


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
    """What a body asks for is counted; nothing of Inductor is called."""
    kernel, _, _ = data.draw(programs())
    with handling(Texts()):
        kernel.body(symbols(kernel))
        calls = set(ops.handlers[-1].calls)
    reads = {call for call in calls if call.startswith("load(")}
    got = count(kernel)
    steps = len(calls - reads) + isinstance(kernel, Reduction)
    assert steps * prod(kernel.loops) == got.flops, f"{calls}: you count {got.flops} flops"
    assert reads == {f"load({name}, {place})" for name, place in got.reads}, (
        f"you return the reads {got.reads}, the body makes {reads}"
    )
