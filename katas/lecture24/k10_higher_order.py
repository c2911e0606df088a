"""Find your mods in the graph.

FlexAttention takes two Python functions, and becomes one kernel. In between is a graph, and a graph
contains no functions. Where did they go? Look at one:

    graph = graph_of(lambda q: flex_attention(q, q, q, score_mod=lambda s, *_: s / 2), x)
    graph.print_readable()

Write `mods`, about 5 lines: from the graph to the two modules of each call. Do not rely on names,
such as ``score_mod_0``: a second call's differ.

Afterwards read ``FlexAttentionHOP`` in ``torch/_higher_order_ops/flex_attention.py``.
"""

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
    # TODO: which node, and which of its arguments?
    raise NotImplementedError("mods")
