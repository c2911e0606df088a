"""The engine: run a backward graph in the right order. With sets, and no heap."""

from __future__ import annotations

from collections import Counter
from collections import deque
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.graph import Node


def count_dependencies(roots: Sequence[tuple[Node, int]]) -> dict[Node, int]:
    """Return how many edges lead to each node that can be reached from `roots`."""
    count = Counter(node for node, _ in roots)
    waiting = deque(count)
    while waiting:
        for node, _ in waiting.popleft().next_functions:
            if node is not None:
                if node not in count:
                    waiting.append(node)
                count[node] += 1
    return dict(count)


def run_backward(roots: Sequence[tuple[Node, int]], grads: Sequence[torch.Tensor]) -> list[Node]:
    """Run the graph below `roots` with these gradients, and return the nodes in their order."""
    missing = count_dependencies(roots)
    arrived: dict[tuple[Node, int], list[torch.Tensor]] = {}
    ready: set[Node] = set()
    order: list[Node] = []

    def follow(edge: tuple[Node, int], gradient: torch.Tensor | None) -> None:
        if edge[0] is not None:
            missing[edge[0]] -= 1
            if missing[edge[0]] == 0:
                ready.add(edge[0])
            if gradient is not None:
                arrived.setdefault(edge, []).append(gradient)

    for root, grad in zip(roots, grads, strict=True):
        follow(root, grad)
    with torch.no_grad():
        while ready:
            node = max(ready, key=lambda node: node._sequence_nr())  # noqa: SLF001
            ready.remove(node)
            order.append(node)
            inputs = [
                sum(parts[1:], parts[0]) if (parts := arrived.get((node, nr))) else None
                for nr in range(len(node._input_metadata))  # noqa: SLF001
            ]
            results = node(*inputs)
            if not isinstance(results, tuple):
                results = (results,)
            for edge, result in zip(node.next_functions, results, strict=True):
                follow(edge, result)
    return order
