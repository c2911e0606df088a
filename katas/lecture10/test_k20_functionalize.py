"""Tests of k20_functionalize: names, views, inputs, and what outputs alias."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from katas.lecture10 import k20_functionalize as kata
from katas.lecture10.k20_functionalize import functionalize
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def ramp(*sizes: int) -> torch.Tensor:
    """Return a tensor whose elements all differ."""
    return torch.arange(1.0, 1 + torch.Size(sizes).numel(), dtype=torch.float64).reshape(sizes)


def traced(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Return the graph of a function, with its views and writes."""
    return make_fx(function, tracing_mode="fake")(*inputs)


def names(module: fx.GraphModule) -> list[str]:
    """Return the operators of a graph in order."""
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def check(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Compare the functionalized program with the original: results, inputs, aliases, writes."""
    graph = traced(function, *inputs)
    before = [dict(node.meta) for node in graph.graph.nodes]
    with unchanged(graph=graph, inputs=inputs):
        module = functionalize(graph)
    assert before == [node.meta for node in graph.graph.nodes], (
        "do not change the meta of the old graph's nodes"
    )
    text = f"\n\nthe program:\n{graph_text(graph)}\n\nwithout writes:\n{graph_text(module)}"
    theirs, ours = [x.clone() for x in inputs], [x.clone() for x in inputs]
    written = [x._version for x in theirs]  # noqa: SLF001 - counts the writes to it
    expected, actual = tuple(function(*theirs)), tuple(module(*ours))
    written = [x._version > before for x, before in zip(theirs, written, strict=True)]  # noqa: SLF001

    assert len(expected) == len(actual), (
        f"your module returns {len(actual)} tensors, the program {len(expected)}{text}"
    )
    for what, wanted, found in (("output", expected, actual), ("input", theirs, ours)):
        for number, (want, got) in enumerate(zip(wanted, found, strict=True)):
            where = f"{what} {number} afterwards"
            assert want.dtype == got.dtype, f"{where} is {got.dtype}, expected {want.dtype}{text}"
            assert want.shape == got.shape, f"{where} is {got.shape}, expected {want.shape}{text}"
            if want.dtype.is_floating_point:
                torch.testing.assert_close(
                    got, want, msg=f"{where} is {got}, expected {want}{text}"
                )
            else:
                assert torch.equal(want, got), f"{where} is {got}, expected {want}{text}"
    assert shared(theirs, expected) == shared(ours, actual), (
        f"which tensors share memory (inputs, then outputs) has changed{text}"
    )
    assert only_inputs_are_written(module, written), text
    return module


def shared(inputs: list[torch.Tensor], outputs: tuple[torch.Tensor, ...]) -> list[int]:
    """For each tensor, return the position of the first one that uses the same memory."""
    places = [x.untyped_storage().data_ptr() for x in (*inputs, *outputs)]
    return [places.index(place) for place in places]


def only_inputs_are_written(module: fx.GraphModule, written: list[bool]) -> bool:
    """Assert that the only writes are copy_ to written inputs, with only views after them."""
    nodes = list(module.graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    calls = [node for node in nodes if node.op == "call_function"]
    writes = [node for node in calls if is_write(node)]

    assert {"aten.copy_.default"} >= {str(node.target) for node in writes}, (
        f"these operators still write: {[str(node.target) for node in writes]}"
    )
    expected = [node.name for node, was in zip(inputs, written, strict=True) if was]
    actual = [node.args[0].name for node in writes]
    assert expected == actual, (
        f"your copy_ nodes write to {actual}, the program writes to {expected}"
    )
    if writes:
        after = calls[calls.index(writes[0]) :]
        late = [str(node.target) for node in after if not is_write(node) and not is_view(node)]
        assert [] == late, f"these are computed after the inputs got their values: {late}"
    return True


def is_write(node: fx.Node) -> bool:
    """Return whether an operator's schema says that it writes."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def is_view(node: fx.Node) -> bool:
    """Return whether a node is a view, or a piece of one."""
    return getattr(node.target, "is_view", False) or "getitem" in str(node.target)


def test_a_write_becomes_a_new_value() -> None:
    """The name means the old value before the write, and the new one after it."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        z = y + 1
        y.mul_(3)
        return y - z, y

    assert_expected_inline(
        graph_text(check(function, ramp(3))),
        """\
x_1 = input
mul = aten.mul.Tensor(x_1, 2)
add = aten.add.Tensor(mul, 1)
mul_1 = aten.mul.Tensor(mul, 3)
sub = aten.sub.Tensor(mul_1, add)
return (sub, mul_1)""",
    )


def test_an_input_gets_its_last_value_at_the_end() -> None:
    """An input gets its last value once, however often it is written to, and is itself returned."""

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x.add_(y)
        x.relu_()
        return x * 2, x

    assert_expected_inline(
        graph_text(check(function, ramp(3), ramp(3))),
        """\
x_1 = input
y_1 = input
add = aten.add.Tensor(x_1, y_1)
relu = aten.relu.default(add)
mul = aten.mul.Tensor(relu, 2)
copy_ = aten.copy_.default(x_1, relu)
return (mul, copy_)""",
    )


def test_a_write_through_a_view_is_seen_by_the_base() -> None:
    """The program of the brief."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        row = x.select(0, 1)
        row.add_(1)
        return x * 2, row

    assert_expected_inline(
        graph_text(check(function, ramp(2, 3))),
        """\
x_1 = input
select = aten.select.int(x_1, 0, 1)
add = aten.add.Tensor(select, 1)
select_scatter = aten.select_scatter.default(x_1, add, 0, 1)
mul = aten.mul.Tensor(select_scatter, 2)
copy_ = aten.copy_.default(x_1, select_scatter)
select_1 = aten.select.int(copy_, 0, 1)
return (mul, select_1)""",
    )


def test_a_write_goes_down_through_views_of_views() -> None:
    """Each view is undone in turn: the diagonal of a transposed slice."""
    check(lambda x: (x[1:].t().diagonal().zero_() + 1, x + 1), ramp(4, 3))


def test_an_older_view_sees_a_write_to_its_base() -> None:
    """The view was created before the write, and is used after it."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 1
        row = y[0]
        first = row + 0
        y.neg_()
        return first, row + 0

    check(function, ramp(2, 3))


def test_a_sister_sees_a_write_to_the_other_view() -> None:
    """Two views overlap in one element; so do a view of one and a view of the other."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        row, column = x[1], x[:, 1]
        corner = column[1:].unsqueeze(0)
        row.mul_(10)
        column.add_(1)
        return row + 0, column + 0, corner + 0

    check(function, ramp(2, 3))


def test_what_a_write_returns_is_the_tensor_itself() -> None:
    """What a write returns is not just a value: later writes to it or to its base show in both."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 1
        z = y[0].add_(1).mul_(2)
        w = z[1:]
        y.neg_()
        w.add_(100)
        return y, z, w

    check(function, ramp(2, 3))


def test_pieces_see_a_write_to_the_whole() -> None:
    """``split`` and ``unbind`` return lists of views: both nodes are out of date."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left, right = x.split(2, 1)
        rows = x.unbind(0)
        before = left + right
        x[:, 1:3].neg_()
        return before, left + right, rows[0] * 1, rows[1]

    check(function, ramp(2, 4))


def test_a_list_of_pieces_is_made_again_once_for_a_write() -> None:
    """The list is a node of its own: all pieces that are needed come from the same new list."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left, right = x.split(2, 1)
        before = left + right
        x.add_(1)
        return before, left * right

    lists = names(check(function, ramp(2, 4))).count("aten.split.Tensor")
    assert 2 == lists, (
        f"you make {lists} lists, expected 2: one before the write, one after it for both pieces"
    )


def test_one_of_several_results_can_be_written_to() -> None:
    """What ``max`` returns is not a view: each of its results is a tensor of its own."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, places = x.max(0)
        old = values + 0
        values[0].add_(1)
        places.mul_(2)
        return old, values, places, x.max(0)[0]

    check(function, ramp(2, 3))


def test_a_view_is_made_again_once_for_a_write() -> None:
    """The view is made when next needed: not on every use, nor after a write to another base."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 1
        view, other, elsewhere = y.view(-1), y.t(), x.unsqueeze(0)
        a = view + other.sum() + elsewhere.sum()
        y.add_(1)
        y.mul_(2)
        b = view + view.sum() + elsewhere.sum()
        return a, b - view

    module = check(function, ramp(2, 2))
    views = [str(node.target) for node in module.graph.nodes if is_view(node)]
    expected = ["aten.view.default", "aten.t.default", "aten.unsqueeze.default"]
    assert [*expected, "aten.view.default"] == views, (
        f"your views are {views}: after the writes the transpose is not used, the view is used "
        f"three times, and what was unsqueezed was not written to"
    )


def test_outputs_alias_as_before() -> None:
    """Inputs, views of inputs, two views of one new tensor: a write to one shows in the other."""

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = x * 1
        top, left = z[0], z[:, 0]
        left.add_(1)
        x.view(-1)[2:].neg_()
        return x, x.t(), y, y[1:], top, left

    x, y = ramp(2, 3), ramp(3)
    module = check(function, x, y)
    results = module(x, y)

    assert results[0] is x, (
        "the program returns the input itself, and so should yours: copy_ returns it too"
    )
    assert results[2] is y, (
        "the program returns the input y itself: expected the same tensor, not a copy"
    )
    results[4].fill_(77)
    assert 77 == results[5][0].item(), (
        "two views of one tensor must still be views of one tensor afterwards"
    )


def test_inputs_are_written_in_their_order() -> None:
    """The last is written first, one is not written; each uses the other's value at that time."""

    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z.copy_(x)
        x.copy_(z + y)
        z.add_(x)
        return z, x[1:]

    check(function, ramp(3), ramp(3), ramp(3))


STEPS = ("select", "slice", "t", "permute", "view", "unsqueeze", "squeeze", "diagonal", "unbind")


WRITES = ("add", "fill", "copy", "clamp", "assign", "new")


def step(what: str, x: torch.Tensor, number: int) -> list[torch.Tensor]:
    """Return the views of this kind that a tensor has."""
    dims = x.dim()
    dim = number % dims if dims else 0
    possible: dict[str, Callable[[], list[torch.Tensor]]] = {
        "select": lambda: [x.select(dim, number % x.size(dim))] if dims else [],
        "slice": lambda: [x.narrow(dim, x.size(dim) // 2, (x.size(dim) + 1) // 2)] if dims else [],
        "t": lambda: [x.transpose(0, dim)] if dims else [],
        "permute": lambda: [x.permute([(n + number) % dims for n in range(dims)])] if dims else [],
        "view": lambda: [x.view(-1)] if x.is_contiguous() else [],
        "unsqueeze": lambda: [x.unsqueeze(dim)] if dims < 4 else [],
        "squeeze": lambda: [x.squeeze(dim)] if dims else [],
        "diagonal": lambda: [x.diagonal(0, dim - 1, dim)] if dims > 1 else [],
        "unbind": lambda: list(x.unbind(dim)[:2]) if dims else [],
    }
    return possible[what]()


def run(program: list[tuple[str, int, int]], *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Run a random program, and return all tensors that it has seen."""
    # A tensor, the number of its base, and whether it is a piece, or a view of one.
    pool = [(x, n, False) for n, x in enumerate(inputs)]
    for what, first, second in program:
        x, base, piece = pool[first % len(pool)]
        y, other, _ = pool[second % len(pool)]
        if what in STEPS:
            pool += [(view, base, piece or what == "unbind") for view in step(what, x, second)]
        elif what == "new":
            pool.append((x * 2 + y.amax(), len(pool), False))
        elif not piece:
            {
                "add": lambda x=x, y=y: x.add_(y.amax()),
                "fill": lambda x=x, second=second: x.fill_(second),
                "copy": lambda x=x, y=y: x.copy_(y.amin()),
                "clamp": lambda x=x, second=second: x.clamp_(-second, second + 10),
                "assign": lambda x=x, y=y, apart=(base != other and x.shape == y.shape): (
                    x.mul_(y) if apart else x.neg_()
                ),
            }[what]()
    return tuple(x for x, _, _ in pool)


@given(
    program=st.lists(
        st.tuples(st.sampled_from(STEPS + WRITES), st.integers(0, 9), st.integers(0, 9)),
        max_size=9,
    )
)
def test_any_program(program: list[tuple[str, int, int]]) -> None:
    """Chains of views and writes: values, inputs and aliases as in the program itself."""
    check(lambda x, y: run(program, x, y), ramp(2, 3), ramp(3, 1, 2))


def decode(
    keys: torch.Tensor, values: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Attend from one new token to four; first write its key and value to the caches."""
    query, key, value = (x @ weight).chunk(3, -1)
    keys[:, 3] = key
    values[:, 3] = value
    scores = keys[:, :4] @ query.unsqueeze(-1)
    scores.mul_(0.5)
    return ((scores.softmax(1) * values[:, :4]).sum(1),)


def mixed(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Write through chains of views, with dtypes that differ."""
    flat = x.view(-1)
    flat[1:4].add_(y)
    x.t().diagonal().copy_(flat[2:4])
    z = torch.zeros(2, 3)
    z.mul_(x)
    z[1].relu_()
    return x, flat, z.squeeze()


@pytest.mark.parametrize("name", ["mixed", "decode"])
def test_the_graph_computes_what_that_of_pytorch_computes(name: str) -> None:
    """Apart from views, the same operators as from ``torch.func.functionalize``, equally often."""
    function, inputs = {
        "mixed": (mixed, (ramp(2, 3), ramp(3))),
        "decode": (decode, (torch.ones(2, 8, 4), torch.ones(2, 8, 4), ramp(2, 4), ramp(4, 12))),
    }[name]
    if name == "decode":
        inputs = tuple(x.float() for x in inputs)
    ours = functionalize(traced(function, *inputs))
    theirs = make_fx(torch.func.functionalize(function))(*(x.clone() for x in inputs))
    expected, actual = (
        Counter(
            str(node.target)
            for node in module.graph.nodes
            if node.op == "call_function" and not is_view(node) and "reshape" not in node.name
        )
        for module in (theirs, ours)
    )

    assert expected == actual, (
        f"only in PyTorch's graph: {expected - actual}; only in yours: {actual - expected}"
    )


READY_MADE = (
    "torch._C",
    "torch._enable_functionalization",
    "torch._functorch",
    "torch._subclasses",
    "torch._to_functional_tensor",
    "torch.export",
    "torch.func",
    "torch.func.functionalize",
    "torch.fx.experimental.proxy_tensor",
    "torch.fx.experimental.proxy_tensor.make_fx",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's functionalization may not be called: you are writing it, on nodes."""
    graph = traced(mixed, ramp(2, 3), ramp(3))
    # The name of an operator without its `_` is computed.
    with forbids(kata, *READY_MADE, allow=("torch._", "torch.ops", "torch.?")) as fresh:
        module = fresh.functionalize(graph)
    x, expected = ramp(2, 3), ramp(2, 3)
    module(x, ramp(3))
    mixed(expected, ramp(3))

    torch.testing.assert_close(x, expected, rtol=0, atol=0)
