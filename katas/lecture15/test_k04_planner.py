"""Tests of k04_planner: graphs, random lifetimes, and programs that run in your arena."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture15.conftest import exported
from katas.lecture15.conftest import out_variant
from katas.lecture15.k04_planner import Lifetime
from katas.lecture15.k04_planner import aligned
from katas.lecture15.k04_planner import arena_size
from katas.lecture15.k04_planner import bound
from katas.lecture15.k04_planner import drawn
from katas.lecture15.k04_planner import lifetimes
from katas.lecture15.k04_planner import place
from katas.lecture15.k04_planner import tensor_at
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

one = pytest.mark.step(1, "first and last use")
two = pytest.mark.step(2, "the lower bound")
three = pytest.mark.step(3, "offsets")
four = pytest.mark.step(4, "tensors in the arena")
five = pytest.mark.step(5, "views have no bytes")

X = torch.randn(4, 8)


def told(spans: Sequence[Lifetime]) -> str:
    """Return lifetimes as text."""
    return "\n".join(f"{s.name}: {s.nbytes} bytes, {s.first} to {s.last}" for s in spans)


def lives(function: Callable[..., object], expected: str, why: str, *inputs: torch.Tensor) -> None:
    """Compare the lifetimes of a function's results."""
    program = exported(function, *(inputs or (X,)))
    yours = told(lifetimes(program.graph))

    assert expected == yours, f"{program.graph}\nyours\n{yours}\n\nexpected\n{expected}\n\n{why}"


def twice(x: torch.Tensor) -> torch.Tensor:
    """Read the first result at the end again."""
    a = torch.relu(x)
    return torch.cat([torch.neg(torch.exp(a)), a])


def returned(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first result and what was computed from it."""
    a = torch.relu(x)
    return a, torch.exp(torch.neg(a))


def viewed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a view of a view that is created long before the end."""
    view = torch.relu(x).t().unsqueeze(0)
    return torch.exp(torch.neg(x.t())), view


def view_of_a_view(x: torch.Tensor) -> torch.Tensor:
    """Read a view of a view, after another call."""
    view = torch.relu(x).t().unsqueeze(0)
    return torch.exp(torch.neg(x.t()) * view)


@one
def test_a_chain() -> None:
    """In a chain, each result is read by the next call, and the last is returned."""
    lives(
        lambda x: torch.exp(torch.neg(torch.relu(x))),
        "relu: 128 bytes, 1 to 2\nneg: 128 bytes, 2 to 3\nexp: 128 bytes, 3 to 3",
        "a result is alive from the call that writes it to the last that reads it",
    )


@one
def test_a_result_that_is_read_twice() -> None:
    """A result lives until its last reader, not its first; sizes are in bytes."""
    lives(
        twice,
        "relu: 256 bytes, 1 to 4\nexp: 256 bytes, 2 to 3\nneg: 256 bytes, 3 to 4\n"
        "cat: 512 bytes, 4 to 4",
        "cat reads relu's result at call 4",
        X.double(),
    )


@one
def test_what_is_returned_lives_to_the_end() -> None:
    """An output lives to the end, since the caller reads it after the last call."""
    lives(
        returned,
        "relu: 128 bytes, 1 to 3\nneg: 128 bytes, 2 to 3\nexp: 128 bytes, 3 to 3",
        "relu's result is an output: nobody may write there until the caller has read it",
    )


@one
def test_a_result_that_nobody_reads() -> None:
    """A result that nobody reads is still written, and needs its bytes during that call."""
    graph = exported(lambda x: torch.exp(torch.neg(x)), X).graph
    neg = next(node for node in graph.nodes if node.name == "neg")
    with graph.inserting_before(neg):
        spare = graph.call_function(torch.ops.aten.relu.default, (neg.args[0],))
    spare.meta["val"] = neg.meta["val"]
    yours = told(lifetimes(graph))
    expected = f"{spare.name}: 128 bytes, 1 to 1\nneg: 128 bytes, 2 to 3\nexp: 128 bytes, 3 to 3"

    assert expected == yours, f"{graph}\nyours\n{yours}\n\nexpected\n{expected}"


@one
def test_inputs_have_no_place() -> None:
    """A program that returns its input needs no arena."""
    lives(lambda x: x, "", "only what a call writes is in the arena")


# Name, bytes, first, last. A and C overlap at call 3 only, and B ends before D begins.
MEETING = [
    Lifetime("a", 32, 1, 3),
    Lifetime("b", 64, 1, 2),
    Lifetime("c", 80, 3, 4),
    Lifetime("d", 16, 3, 3),
]


@two
def test_the_bound() -> None:
    """Both ends count: three results are alive during call 3."""
    yours = bound(MEETING)
    one_call = [Lifetime("a", 32, 1, 2), Lifetime("b", 64, 3, 4)]

    assert 128 == yours, f"yours {yours}, expected 128: call 3 needs 32 + 80 + 16 bytes"
    assert 0 == bound([]), f"yours {bound([])} for an empty list, expected 0"
    assert 64 == bound(one_call), f"yours {bound(one_call)}, expected 64: no call needs both"


@two
def test_the_bound_may_lie_between_the_ends() -> None:
    """The bound may be reached at a call in the middle."""
    spans = [*MEETING, Lifetime("e", 83, 2, 2), Lifetime("f", 7, 5, 6)]
    yours = bound(spans)

    assert 179 == yours, (
        f"{told(spans)}\nyours {yours}, expected 32 + 64 + 83 at call 2: bytes, without padding"
    )


def offsets_of(spans: Sequence[Lifetime]) -> dict[str, int]:
    """Return, by trying each offset, where the rule of `place` puts each result."""
    placed: dict[str, tuple[Lifetime, int]] = {}
    for each in sorted(spans, key=lambda each: each.nbytes, reverse=True):
        there = [x for x in placed.values() if {*calls(x[0])} & {*calls(each)}]
        at = 0
        while any(at < start + x.nbytes and start < at + each.nbytes for x, start in there):
            at += 16
        placed[each.name] = (each, at)
    return {name: at for name, (_, at) in placed.items()}


def calls(span: Lifetime) -> range:
    """Return the calls at which a result is alive."""
    return range(span.first, span.last + 1)


def compare(spans: list[Lifetime]) -> None:
    """Compare offsets; the order in which they are returned does not matter."""
    before = list(spans)
    yours, expected = place(spans), offsets_of(spans)

    assert before == spans, "your function modified the list that it was given"
    assert {*expected} == {*yours}, f"yours has offsets for {[*yours]}, expected {[*expected]}"
    assert expected == yours, (
        f"{told(spans)}\n\nyours\n{drawn(spans, yours)}\n\nexpected\n{drawn(spans, expected)}"
    )


@three
def test_two_that_never_meet() -> None:
    """Two results that are never alive together can share an offset."""
    compare([Lifetime("a", 64, 1, 2), Lifetime("b", 64, 3, 4)])


@three
def test_two_that_meet_at_one_call() -> None:
    """A call that reads a while it writes b needs both."""
    compare([Lifetime("a", 64, 1, 2), Lifetime("b", 64, 2, 3)])


@three
def test_the_largest_comes_first() -> None:
    """Results are placed largest first, and results of one size in the order of the list."""
    compare([Lifetime("z", 16, 1, 3), Lifetime("b", 96, 2, 3), Lifetime("c", 16, 3, 3)])


@three
def test_a_gap_that_is_large_enough() -> None:
    """The last result fits into a gap between two others, and does not go to the end."""
    compare(
        [
            *(Lifetime("a", 96, 1, 2), Lifetime("b", 80, 1, 1), Lifetime("c", 64, 1, 3)),
            *(Lifetime("d", 64, 2, 3), Lifetime("e", 16, 2, 3), Lifetime("f", 32, 2, 3)),
        ]
    )


@three
def test_a_block_that_ends_higher_than_the_next() -> None:
    """Two blocks are in the way of the last result: 0 to 96, and 48 to 80."""
    compare(
        [
            *(Lifetime("a", 96, 1, 1), Lifetime("b", 48, 3, 3), Lifetime("c", 32, 3, 3)),
            Lifetime("d", 16, 1, 3),
        ]
    )


@three
def test_offsets_are_aligned() -> None:
    """Offsets are rounded up to `ALIGN`; an end that is a multiple needs no padding."""
    compare([Lifetime("a", 3, 1, 2), Lifetime("b", 33, 1, 2), Lifetime("c", 32, 1, 2)])


SPANS = st.lists(st.tuples(st.integers(1, 90), st.integers(1, 9), st.integers(0, 4)), max_size=9)


@three
@given(SPANS)
@example([])
def test_any_results(some: list[tuple[int, int, int]]) -> None:
    """Your offsets are those found by trying each offset in turn."""
    compare([Lifetime(f"r{9 - n}", size, a, a + d) for n, (size, a, d) in enumerate(some)])


@four
@pytest.mark.parametrize("name", ["uint8", "float16", "float32", "int64"])
def test_a_tensor_in_the_arena(name: str) -> None:
    """The tensor has the shape and dtype, and writing to it changes only its own bytes."""
    dtype = getattr(torch, name)
    arena, like = torch.zeros(256, dtype=torch.uint8), torch.empty(2, 3, dtype=dtype)
    yours = tensor_at(arena, 32, like)
    shape, kind = tuple(yours.shape), yours.dtype
    assert ((2, 3), dtype) == (shape, kind), f"yours has {shape}, {kind}; expected (2, 3), {dtype}"
    yours.fill_(1)
    written = arena.nonzero().flatten().tolist()
    expected = torch.ones(6, dtype=dtype).view(torch.uint8).nonzero().flatten() + 32

    assert expected.tolist() == written, (
        f"ones of {dtype} at 32 went to bytes {written}, expected {expected.tolist()}"
    )


@four
def test_other_shapes() -> None:
    """A scalar has no dims, and a tensor like a transposed one is contiguous."""
    arena = torch.zeros(256, dtype=torch.uint8)
    scalar = tensor_at(arena, 16, torch.tensor(1.5))
    turned = tensor_at(arena, 64, torch.empty(3, 2).t())

    assert () == tuple(scalar.shape), f"yours has shape {tuple(scalar.shape)}, expected ()"
    assert ((2, 3), (3, 1)) == (tuple(turned.shape), turned.stride()), (
        f"yours has shape {tuple(turned.shape)} and strides {turned.stride()}, expected (2, 3) and"
        " (3, 1)"
    )


@five
def test_a_view_has_no_bytes() -> None:
    """A view is numbered like any call; whatever reads the view reads its base."""
    lives(
        lambda x: torch.exp(torch.neg(torch.relu(x).t()) * 2),
        "relu: 128 bytes, 1 to 3\nneg: 128 bytes, 3 to 4\nmul: 128 bytes, 4 to 5\n"
        "exp: 128 bytes, 5 to 5",
        "neg, call 3, reads the bytes of relu through the view",
    )


@five
def test_a_view_of_a_view() -> None:
    """Whatever reads the second view reads the base of the first."""
    lives(
        view_of_a_view,
        "relu: 128 bytes, 1 to 6\nneg: 128 bytes, 5 to 6\nmul: 128 bytes, 6 to 7\n"
        "exp: 128 bytes, 7 to 7",
        "mul, call 6, reads the bytes of relu through two views",
    )


@five
def test_a_view_that_is_returned() -> None:
    """The base of a returned view lives to the end; a view of an input has no base here."""
    lives(
        viewed,
        "relu: 128 bytes, 1 to 6\nneg: 128 bytes, 5 to 6\nexp: 128 bytes, 6 to 6",
        "the caller gets a view of relu's bytes",
    )
    lives(
        lambda x: (torch.relu(x).t(), torch.exp(torch.neg(x))),
        "relu: 128 bytes, 1 to 4\nneg: 128 bytes, 3 to 4\nexp: 128 bytes, 4 to 4",
        "the caller gets a view of relu's bytes",
    )


def branches(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Compute something with branches, views, and an output that is read."""
    a = torch.relu(torch.addmm(x, x, w.t()))
    b = torch.cat([a, x.neg()], 1).t()
    c = torch.sigmoid(b)
    d = torch.mm(b, a)
    positive = d > 0
    return d, c[0] * 2, torch.argmax(torch.exp(c), 1), torch.logical_not(positive)


def in_arena(x: torch.Tensor, w: torch.Tensor) -> tuple[list[torch.Tensor], int, list[Lifetime]]:
    """Run `branches` in an arena planned by yours, full of NaN; return also its size."""
    program = exported(branches, x, w=w)
    spans = lifetimes(program.graph)
    offsets = place(spans)
    size = arena_size(spans, offsets)
    arena = torch.full((aligned(size),), 0xFF, dtype=torch.uint8)
    values: dict[torch.fx.Node, torch.Tensor] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            values[node] = x if node.name in program.graph_signature.user_inputs else w
        elif node.op == "call_function":
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
            if node.target.is_view:
                values[node] = node.target(*args, **kwargs)
            else:
                out = tensor_at(arena, offsets[node.name], node.meta["val"])
                values[node] = out_variant(node.target)(*args, **kwargs, out=out)
        else:
            return [values[each].clone() for each in node.args[0]], size, spans
    raise AssertionError("no output")


def test_it_runs_in_your_arena() -> None:
    """The calls compute the same in shared memory as in separate memory."""
    x, w = torch.randn(6, 6), torch.randn(6, 6)
    with unchanged(x=x, w=w):
        yours, size, spans = in_arena(x, w)
    for number, (mine, theirs) in enumerate(zip(yours, branches(x, w), strict=True)):
        assert torch.allclose(mine, theirs), (
            f"output {number}: a result was overwritten before its last reader.\n{told(spans)}"
        )
    alone = sum(each.nbytes for each in spans)

    assert size <= 0.75 * alone, (
        f"your arena has {size} bytes, expected at most three quarters of the {alone} without"
        " sharing"
    )


def test_a_plan_as_text() -> None:
    """The arena of the program above is drawn as text, with its bound."""
    spans = lifetimes(exported(branches, torch.ones(6, 6), w=torch.ones(6, 6)).graph)
    spans = [each._replace(name=f"{n}") for n, each in enumerate(spans)]
    offsets = place(spans)
    text = f"{drawn(spans, offsets)}\nbound {bound(spans)}, arena {arena_size(spans, offsets)}"
    assert_expected_inline(
        text,
        """\
    0 to   144  .##...........  0
    0 to   288  ....####......  3
    0 to   288  ...........##.  8
    0 to    72  .............#  10
  288 to   432  ...##.........  2
  288 to   576  ......######..  4
  288 to   384  ............##  9
  576 to   864  .......#######  5
  864 to  1008  ..######......  1
  864 to   936  ........######  6
  944 to   968  ..........####  7
bound 1008, arena 1008""",
    )
