"""Tests of k19_put_back: what undoes each kind of view."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from katas.lecture10 import k19_put_back as kata
from katas.lecture10.k19_put_back import put_back
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


aten = torch.ops.aten


def ramp(*sizes: int) -> torch.Tensor:
    """Return a tensor whose elements all differ."""
    return torch.arange(1.0, 1 + torch.Size(sizes).numel(), dtype=torch.float64).reshape(sizes)


def traced(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Return the graph of a function, with its views and writes."""
    return make_fx(function, tracing_mode="fake")(*inputs)


def names(module: fx.GraphModule) -> list[str]:
    """Return the operators of a graph in order."""
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def is_view(node: fx.Node) -> bool:
    """Return whether a node is a view, or a piece of one."""
    return getattr(node.target, "is_view", False) or "getitem" in str(node.target)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "select": lambda x: x.select(1, -1),
    "slice": lambda x: x[:, 1:4:2],
    "slice to the end": lambda x: x[1:],
    "diagonal": lambda x: x.diagonal(1, 2, 1),
    "view": lambda x: x.view(6, -1),
    "unsqueeze": lambda x: x.unsqueeze(-2),
    "squeeze": lambda x: x.squeeze(),
    "squeeze of one dim": lambda x: x.squeeze(3),
    "transpose": lambda x: x.transpose(0, -2),
    "permute": lambda x: x.permute(1, 2, 0, 3),
    "permute by negative dims": lambda x: x.permute(-2, 0, -1, -3),
    "detach": lambda x: x.detach(),
    "alias": aten.alias.default,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_value_is_put_back_into_what_was_viewed(name: str) -> None:
    """For each kind of view: the elements that it shows are replaced, the others stay."""
    x = ramp(2, 4, 3, 1)
    (view,) = (n for n in traced(VIEWS[name], x).graph.nodes if n.op == "call_function")
    graph = fx.Graph()
    base, value = graph.placeholder("base"), graph.placeholder("value")
    graph.output(put_back(graph, view, base, value))
    expected = x.clone()
    new = -VIEWS[name](expected).mT.contiguous().mT  # other strides: it can be no view's base
    VIEWS[name](expected).copy_(new)
    before = x.clone()
    actual = fx.GraphModule({}, graph)(x, new)

    assert torch.equal(before, x), "x was mutated: put_back must compute a new base"
    assert expected.shape == actual.shape, (
        f"{name}: your base has shape {tuple(actual.shape)}, expected {tuple(expected.shape)}, "
        f"that of the base"
    )
    assert torch.equal(expected, actual), f"{name}: the base becomes {actual}, expected {expected}"


def test_a_matrix_is_put_back_by_transposing_again() -> None:
    """``t`` takes no dims."""
    (view,) = traced(lambda x: x.t(), ramp(2, 3)).graph.find_nodes(
        op="call_function", target=aten.t.default
    )
    graph = fx.Graph()
    new = put_back(graph, view, graph.placeholder("base"), value := graph.placeholder("value"))

    assert (aten.t.default, (value,)) == (new.target, new.args), (
        f"you add {new.format_node()}, expected t of the value"
    )


@pytest.mark.parametrize("name", ["detach", "alias"])
def test_a_view_of_all_is_put_back_as_the_value_itself(name: str) -> None:
    """Such a view shows its whole base, in order: nothing is left to compute."""
    (view,) = (n for n in traced(VIEWS[name], ramp(3)).graph.nodes if n.op == "call_function")
    graph = fx.Graph()
    base, value = graph.placeholder("base"), graph.placeholder("value")
    new = put_back(graph, view, base, value)

    assert value is new, (
        f"the base becomes {new.format_node()}, expected the very value that was passed"
    )


def test_what_cannot_be_put_back_is_refused() -> None:
    """An expanded tensor has one element in many places: no base could hold all of them."""
    graph = fx.Graph()
    base, value = graph.placeholder("base"), graph.placeholder("value")
    (view,) = (
        n for n in traced(lambda x: x.expand(2, 3), ramp(3)).graph.nodes if n.op == "call_function"
    )
    with pytest.raises(ValueError, match=r"cannot write through aten.expand.default"):
        put_back(graph, view, base, value)


READY_MADE = ("katas.lecture10.views", "torch._functorch", "torch.func.functionalize")


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's functionalization may not be called: you are writing it."""
    graph = traced(lambda x: x.select(0, 1), ramp(2, 3))
    (view,) = graph.graph.find_nodes(op="call_function", target=aten.select.int)
    new = fx.Graph()
    with forbids(kata, *READY_MADE, allow=("torch._", "torch.ops", "torch.?")) as fresh:
        found = fresh.put_back(new, view, new.placeholder("base"), new.placeholder("value"))

    assert aten.select_scatter.default is found.target, (
        f"you add {found.target}: put back what select took out with select_scatter"
    )


def test_pytorch_puts_back_the_same() -> None:
    """As ``torch.func.functionalize`` records for the same program."""

    def function(x: torch.Tensor) -> torch.Tensor:
        x[1:].select(1, 0).zero_()
        return x

    graph = make_fx(torch.func.functionalize(function))(ramp(3, 3))
    scatters = [name for name in names(graph) if "scatter" in name]

    new = fx.Graph()
    views = [n for n in traced(function, ramp(3, 3)).graph.nodes if is_view(n)]
    base = [new.placeholder(f"base_{n}") for n in range(len(views))]
    value = new.placeholder("value")
    for view, node in zip(reversed(views), base, strict=True):
        value = put_back(new, view, node, value)
    yours = [str(node.target) for node in new.nodes if node.op == "call_function"]
    assert scatters == yours, f"PyTorch records {scatters}, you add {yours}"
