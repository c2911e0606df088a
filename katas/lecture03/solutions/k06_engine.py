"""The engine: run a graph backwards, in the right order."""

from __future__ import annotations

from heapq import heappop
from heapq import heappush
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.graph import Node


def count_dependencies(roots: Sequence[tuple[Node, int]]) -> dict[Node, int]:
    """Return each node reachable from `roots`, and how many edges lead to it."""
    dependencies: dict[Node, int] = {}
    edges = list(roots)
    while edges:
        node, _ = edges.pop()
        if node is None:
            continue
        if node not in dependencies:
            dependencies[node] = 0
            edges.extend(node.next_functions)
        dependencies[node] += 1
    return dependencies


@torch.no_grad()
def run_backward(roots: Sequence[tuple[Node, int]], grads: Sequence[torch.Tensor]) -> list[Node]:
    """Send each gradient along its root, run the reachable nodes, and return them in order."""
    dependencies = count_dependencies(roots)
    buffers = {node: [None] * len(node._input_metadata) for node in dependencies}  # noqa: SLF001
    # The position breaks ties, because nodes cannot be compared.
    ready: list[tuple[int, int, Node]] = []
    order: list[Node] = []

    def send(edges: Sequence[tuple[Node, int]], gradients: Sequence[torch.Tensor | None]) -> None:
        for (node, input_nr), gradient in zip(edges, gradients, strict=True):
            if node is None:
                continue
            if gradient is not None:
                before = buffers[node][input_nr]
                # Not in place: another node may hold the same tensor.
                buffers[node][input_nr] = gradient if before is None else before + gradient
            dependencies[node] -= 1
            if dependencies[node] == 0:
                heappush(ready, (-node._sequence_nr(), id(node), node))  # noqa: SLF001

    send(roots, grads)
    while ready:
        *_, node = heappop(ready)
        order.append(node)
        result = node(*buffers[node])
        edges = node.next_functions
        send(edges, (result,) if len(edges) == 1 else result)
    return order
