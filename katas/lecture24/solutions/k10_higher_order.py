"""Find your mods in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule


def graph_of(attend: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> GraphModule:
    """Return the graph that ``torch.compile`` gives its backend: given."""
    graphs: list[GraphModule] = []

    def backend(graph: GraphModule, _inputs: Any) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    torch.compile(attend, backend=backend, fullgraph=True)(*inputs)
    return graphs[0]


def calls(mod: GraphModule) -> str:
    """Return the names of the functions that a module calls: given."""
    nodes = [node for node in mod.graph.nodes if node.op.startswith("call_")]
    return " ".join(getattr(node.target, "__name__", str(node.target)) for node in nodes)


def mods(graph: GraphModule) -> list[tuple[GraphModule, GraphModule]]:
    """Return ``score_mod`` and ``mask_mod`` of each call of FlexAttention in a graph, in order.

    The graph may call other operators that take functions, or none.
    """
    flex = torch.ops.higher_order.flex_attention
    return [
        (graph.get_submodule(node.args[3].target), graph.get_submodule(node.args[4][-1].target))
        for node in graph.graph.nodes
        if node.target is flex
    ]
