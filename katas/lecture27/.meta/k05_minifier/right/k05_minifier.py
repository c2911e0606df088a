"""Delta debugging with a number of chunks, as in the paper, and placeholders as they come."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")


class Recorder(fx.Interpreter):  # type: ignore[misc, unused-ignore]
    """Runs a graph, and keeps a copy of what each node returned. Given."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, torch.Tensor] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run a node; later ones may write to its result."""
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.values[n] = result.clone()
        return result


def extract(
    values: dict[fx.Node, torch.Tensor], kept: list[fx.Node]
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a graph of the nodes `kept`, and a tensor for each of its inputs."""
    read = dict.fromkeys(each for node in kept for each in node.all_input_nodes)
    outside = [each for each in read if each not in kept]
    graph = fx.Graph()
    new = {each: graph.placeholder(each.name) for each in outside}
    for node in kept:
        new[node] = graph.node_copy(node, lambda each: new[each])
    graph.output((new[kept[-1]],))
    return fx.GraphModule({}, graph), [values[each].clone() for each in outside]


def ddmin(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Try each of n chunks, then what is left without each, then more chunks: as in the paper."""
    parts = 2
    while items:
        edges = [len(items) * k // parts for k in range(parts + 1)]
        chunks = [items[a:b] for a, b in pairwise(edges)]
        rests = [items[:a] + items[b:] for a, b in pairwise(edges)]
        if len(chunks) > 2 and (chunk := next(filter(fails, chunks), None)):
            items, parts = chunk, 2
        elif (rest := next(filter(fails, rests), None)) is not None:
            items, parts = rest, max(min(parts - 1, len(rest)), 1)
        elif parts >= len(items):
            break
        else:
            parts = min(2 * parts, len(items))
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
