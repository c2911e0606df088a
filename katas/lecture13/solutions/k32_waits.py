"""A pass over an FX graph that waits for collectives as late as possible."""

from __future__ import annotations

import torch
from torch import fx


def sink_waits(graph: fx.Graph) -> None:
    """Move each wait to just before the first node that uses it; all others keep their order.

    Waits with the same first user keep their order.
    A wait is a call of ``torch.ops._c10d_functional.wait_tensor.default``. If no node uses a wait,
    it stays: it may be there because of a write.
    """
    wait = torch.ops._c10d_functional.wait_tensor.default  # noqa: SLF001 - its name
    for node in list(graph.nodes):
        if node.target is wait and node.users:
            first = next(other for other in graph.nodes if other in node.users)
            first.prepend(node)
