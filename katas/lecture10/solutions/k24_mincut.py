"""The min-cut partitioner: what to save for backward, and what to recompute."""

from __future__ import annotations

import math
from collections import defaultdict
from collections import deque
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Iterable
    from collections.abc import Mapping

    from torch import fx

    Edge = tuple[Hashable, Hashable]

# Given: the text of the ValueError of `max_flow`.
UNBOUNDED = "the flow is unbounded: a path has no edge that may be cut"


def max_flow(
    capacities: Mapping[Edge, float], source: Hashable, sink: Hashable
) -> tuple[float, set[Hashable]]:
    """Return the maximum flow, and the vertices on the source's side of the cut that limits it."""
    residual: dict[Hashable, dict[Hashable, float]] = defaultdict(lambda: defaultdict(int))
    for (start, end), capacity in capacities.items():
        residual[start][end] += capacity
    flow = 0.0
    while True:
        # The shortest path that has room left (Edmonds and Karp): breadth first.
        came_from: dict[Hashable, Hashable] = {source: source}
        queue = deque([source])
        while queue:
            vertex = queue.popleft()
            for after, room in residual[vertex].items():
                if room > 0 and after not in came_from:
                    came_from[after] = vertex
                    queue.append(after)
        if sink not in came_from:
            return flow, set(came_from)
        way = []
        end = sink
        while end != source:
            way.append((came_from[end], end))
            end = came_from[end]
        room = min(residual[start][end] for start, end in way)
        if room == math.inf:
            raise ValueError(UNBOUNDED)
        flow += room
        for start, end in way:
            residual[start][end] -= room
            # What flows here may be sent back later, and go another way.
            residual[end][start] += room


def is_expensive(node: fx.Node) -> bool:
    """Return whether a node must not run twice: it is slow, or draws random numbers. Given."""
    aten = torch.ops.aten
    slow = (
        aten.mm,
        aten.addmm,
        aten.bmm,
        aten.convolution,
        aten._scaled_dot_product_flash_attention_for_cpu,  # noqa: SLF001 - its only name
    )
    random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return random or getattr(node.target, "overloadpacket", None) in slow


def price(node: fx.Node) -> float:
    """Return the bytes of a tensor; a tuple of tensors cannot be saved, its items can. Given."""
    value: Any = node.meta["val"]
    return value.nbytes if isinstance(value, torch.Tensor) else math.inf


def walk_back(results: Iterable[fx.Node | None], stops: set[fx.Node]) -> set[fx.Node]:
    """Return the nodes on the way back from `results`, not going past a stop. Given.

    Results and stops are included; None is skipped.
    """
    met: set[fx.Node] = set()
    waiting = [node for node in results if node is not None]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting += [] if node in stops else node.all_input_nodes
    return met


def saved_values(joint: fx.Graph, num_outputs: int) -> list[fx.Node]:
    """Return the nodes that forward saves: as few bytes as suffice to rerun nothing expensive."""
    *nodes, output = joint.nodes
    gradients = output.args[0][num_outputs:]
    inputs = joint.find_nodes(op="placeholder")
    primals, later = set(inputs[:-num_outputs]), set(inputs[-num_outputs:])
    for node in nodes:
        if not later.isdisjoint(node.all_input_nodes):
            later.add(node)
    needed = walk_back(gradients, set())
    capacities: dict[Edge, float] = {}
    for node in needed - later:
        # Cutting this edge means saving the node. No other edge may be cut.
        capacities[("in", node), ("out", node)] = 0 if node in primals else price(node)
        if node in primals or is_expensive(node):
            # Backward cannot start before it: a node on the way from here has to be saved.
            capacities["source", ("in", node)] = math.inf
        for user in needed & node.users.keys():
            capacities[("out", node), "sink" if user in later else ("in", user)] = math.inf
        if node in gradients:
            capacities[("out", node), "sink"] = math.inf
    _, reached = max_flow(capacities, "source", "sink")
    cut = {node for node in needed if ("in", node) in reached and ("out", node) not in reached}
    # A primal costs nothing, so it is in the cut even if all that it leads to is saved as well.
    met = walk_back(gradients, cut)
    return [node for node in nodes if node in cut & met]
