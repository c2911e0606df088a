"""Tests of k39_symbolic: graphs that hold for every size, before and after the pass."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from expecttest import assert_expected_inline
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from katas.lecture10 import k39_symbolic as kata
from katas.lecture10.k39_symbolic import decompose_mean
from plugins.kit import forbids
from plugins.kit import graph_text


if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten


def traced(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Return the graph of a function for all sizes."""
    return make_fx(function, tracing_mode="symbolic")(*inputs)


def check(function: Callable[..., Any], *shapes: tuple[int, ...]) -> fx.GraphModule:
    """Trace with the first shape, decompose, and compare for each of them."""
    gm = traced(function, torch.rand(shapes[0], dtype=torch.float64))
    before = len(gm.graph.find_nodes(op="call_function", target=aten.mean.dim))
    found = decompose_mean(gm)
    gm.graph.lint()
    text = f"\n\nyours:\n{graph_text(gm)}"
    assert before == found, f"you return {found}, but there were {before} means{text}"
    left = gm.graph.find_nodes(op="call_function", target=aten.mean.dim)
    assert not left, f"a mean is left{text}"
    symbols = [
        f"a size is in {node.name} as {value}, not as a node"
        for node in gm.graph.nodes
        for value in (*node.args, *node.kwargs.values())
        if isinstance(value, torch.SymInt | torch.SymFloat)
    ]
    assert not symbols, f"{'; '.join(symbols)}{text}"
    for shape in shapes:
        x = torch.rand(shape, dtype=torch.float64)
        torch.testing.assert_close(
            gm(x), function(x), msg=lambda m, s=shape: f"for a {s} input: {m}{text}"
        )
    return gm


def test_the_count_is_a_node() -> None:
    """The example of the brief."""
    gm = check(lambda x: x.mean(0), (3, 4))

    assert_expected_inline(
        graph_text(gm.graph),
        """\
x_1 = input
sum = aten.sum.dim_IntList(x_1, [0])
sym_size = aten.sym_size.int(x_1, 0)
div = aten.div.Tensor(sum, sym_size)
return div""",
    )


def test_every_size_is_served() -> None:
    """The graph holds even for sizes that it was not traced with."""
    check(lambda x: (x.sin().mean(1) * 2).mean(0), (3, 4), (5, 7), (2, 2), (9, 3))


def test_no_guard_is_added() -> None:
    """``int()`` of a symbol adds one, and the graph then holds only for that size."""
    gm = traced(lambda x: x.mean(0) + x.mean(1).mean(0), torch.rand(3, 4))
    (x,) = gm.graph.find_nodes(op="placeholder")
    environment = x.meta["val"].fake_mode.shape_env
    before = [str(guard.expr) for guard in environment.guards]
    decompose_mean(gm)

    after = [str(guard.expr) for guard in environment.guards]
    assert before == after, (
        f"the guards {before} have become {after}: do not ask for a size as a number"
    )


def test_a_known_size_is_a_number() -> None:
    """When four tensors are stacked, the 4 is known and only the other dims vary."""
    gm = check(lambda x: torch.stack([x] * 4).mean(0), (2, 8), (4, 4), (6, 2))
    quotient = gm.graph.find_nodes(op="call_function", target=aten.div.Tensor)[0]
    assert 4 == quotient.args[1], (
        f"your graph divides by {quotient.args[1]}, expected 4: the size is known"
    )

    gm = check(lambda x: torch.stack([x] * 4).mean([0, 1]), (2, 8), (6, 2))
    products = [node.args[1] for node in gm.graph.nodes if "mul" in str(node.target)]
    assert 4 in products, "expected rows times 4: the symbol as a node, the 4 as a number"


def test_several_dims() -> None:
    """Dims may be in any order, counted from the end, kept with size 1, or all but one."""
    check(lambda x: x.mean([0, 1]), (3, 4, 5), (2, 6, 7))
    check(lambda x: x.mean([-1, 0], keepdim=True), (3, 4, 5), (2, 6, 7))
    check(lambda x: x.mean([2, 0, 1]), (3, 4, 5), (2, 6, 7))
    check(lambda x: x.mean(-2, True), (3, 4, 5), (2, 6, 7))  # noqa: FBT003 - keepdim, by place
    gm = check(lambda x: x.unsqueeze(0).mean([0, 1]), (3, 4), (6, 2))
    names = [str(node.target) for node in gm.graph.nodes]
    assert not any("mul" in name for name in names), f"a size of 1 needs no multiplication: {names}"


def test_other_nodes_stay() -> None:
    """Without a mean there is nothing to do; a mean that two nodes use is replaced for both."""
    gm = traced(lambda x: x.sum(0) / x.shape[0], torch.rand(3, 4))
    before = graph_text(gm)
    assert 0 == decompose_mean(gm), "expected 0: there is no mean"
    assert before == graph_text(gm), "a graph without a mean must stay as it is"

    gm = check(lambda x: x - (y := x.mean(1, keepdim=True)) * y, (3, 4), (5, 6))
    code = gm.code
    gm.recompile()
    assert code == gm.code, "the code does not match the graph: call gm.recompile()"


def test_the_new_nodes_have_symbols() -> None:
    """The new nodes' meta has the same shapes as the mean's, with the same symbols."""
    gm = traced(lambda x: x.mean(1, keepdim=True), torch.rand(3, 4))
    (mean,) = gm.graph.find_nodes(op="call_function", target=aten.mean.dim)
    expected = str(mean.meta["val"].shape)
    decompose_mean(gm)

    (quotient,) = gm.graph.find_nodes(op="call_function", target=aten.div.Tensor)
    assert expected == str(quotient.meta["val"].shape), (
        f"the quotient has shape {quotient.meta['val'].shape}, the mean had {expected}"
    )
    assert all("val" in node.meta for node in gm.graph.nodes if node.op == "call_function"), (
        "a new node has no meta['val'], which later passes read: add nodes with call"
    )


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's decompositions may not be called: you are writing them."""
    gm = traced(lambda x: x.mean(0), torch.rand(3, 4))
    names = ("torch._decomp", "torch._refs", "torch._inductor", "torch.fx.replace_pattern")
    with forbids(kata, *names, allow=("torch.ops", "torch.?")) as fresh:
        fresh.decompose_mean(gm)

    torch.testing.assert_close(gm(torch.ones(5, 2)), torch.ones(2))
