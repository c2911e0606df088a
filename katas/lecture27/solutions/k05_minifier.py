"""Shrink a graph that fails: delta debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")


class Recorder(fx.Interpreter):  # type: ignore[misc, unused-ignore]
    """Runs a graph and keeps a copy of each node's result. Given."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, torch.Tensor] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run a node and copy its result, which later nodes may write to."""
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.values[n] = result.clone()
        return result


def extract(
    values: dict[fx.Node, torch.Tensor], kept: list[fx.Node]
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a graph of the nodes `kept`, and a tensor for each of its inputs."""
    graph, inputs = fx.Graph(), []
    new: dict[fx.Node, fx.Node] = {}
    for node in kept:
        for each in node.all_input_nodes:
            if each not in kept and each not in new:
                new[each] = graph.placeholder(each.name)
                inputs.append(values[each].clone())
    for node in kept:
        new[node] = graph.node_copy(node, new.__getitem__)
    graph.output((new[kept[-1]],))
    return fx.GraphModule({}, graph), inputs


def ddmin(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Return a sublist of `items`, in order, that fails but passes without any one of its items."""
    size = len(items)
    while True:
        start, before = 0, len(items)
        while start < len(items):
            rest = items[:start] + items[start + size :]
            if fails(rest):
                items = rest
            else:
                start += size
        if size > 1:
            size //= 2
        elif len(items) == before:
            return items


def minify(
    module: fx.GraphModule,
    inputs: list[torch.Tensor],
    fails: Callable[[fx.GraphModule, list[torch.Tensor]], bool],
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return the smallest graph found that fails, and its inputs. Given."""
    recorder = Recorder(module)
    recorder.run(*inputs)
    nodes = [node for node in module.graph.nodes if node.op.startswith("call_")]

    def ask(kept: list[fx.Node]) -> bool:
        return bool(kept) and fails(*extract(recorder.values, kept))

    return extract(recorder.values, ddmin(nodes, ask))
