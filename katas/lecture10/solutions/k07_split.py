"""Split by cost: a graph in stages, one for each device."""

from __future__ import annotations

import operator
from itertools import combinations
from typing import TYPE_CHECKING

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


def stage_cost(
    stage: list[fx.Node], cost: Callable[[fx.Node], int], size: Callable[[fx.Node], int]
) -> int:
    """Return what a stage costs: its own nodes, and the values that it receives."""
    received = {value for node in stage for value in node.all_input_nodes if _is_sent(value)}
    return sum(map(cost, stage)) + sum(map(size, received - set(stage)))


def partition(
    module: fx.GraphModule,
    count: int,
    cost: Callable[[fx.Node], int],
    size: Callable[[fx.Node], int],
) -> list[list[fx.Node]]:
    """Return the calls of a graph in `count` stages whose most expensive one is cheapest."""
    calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
    total = len(calls)
    if not 1 <= count <= total:
        raise ValueError(f"cannot make {count} stages of {total} calls")
    prices = {
        (start, stop): stage_cost(calls[start:stop], cost, size)
        for start, stop in combinations(range(total + 1), 2)
    }
    # For the first `stop` calls: the price of the worst stage, and where each stage ends. What
    # comes before a stage does not matter to its price, so the best for less is all one needs.
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for number in range(1, count + 1):
        best = {
            stop: min(
                (max(worst, prices[start, stop]), (*stops, stop))
                for start, (worst, stops) in best.items()
                if start < stop
            )
            for stop in range(number, total + 1)
        }
    stops = best[total][1]
    return [calls[start:stop] for start, stop in zip((0, *stops), stops, strict=False)]


def split(module: fx.GraphModule, stages: list[list[fx.Node]]) -> fx.GraphModule:
    """Return a module that calls one module for each stage, and hands values on."""
    main = fx.Graph()
    parts: dict[str, fx.GraphModule] = {}
    values: dict[fx.Node, fx.Node] = {}  # where an old node's value is found in the main graph
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node] = main.node_copy(node)
    for number, stage in enumerate(stages):
        inside = set(stage)
        needed = [node for node in module.graph.nodes if inside & node.users.keys()]
        received = [node for node in needed if _is_sent(node) and node not in inside]
        sent = [node for node in stage if node.users.keys() - inside]

        graph = fx.Graph()
        copies = {node: graph.placeholder(node.name) for node in received}
        for node in module.graph.nodes:
            # A parameter lives where it is used, and travels with no value.
            if node in inside or (node in needed and not _is_sent(node)):
                copies[node] = graph.node_copy(node, copies.__getitem__)
        results = tuple(copies[node] for node in sent)
        graph.output(results[0] if len(sent) == 1 else results)

        name = f"stage_{number}"
        parts[name] = fx.GraphModule(module, graph)
        result = main.call_module(name, tuple(values[node] for node in received))
        for place, node in enumerate(sent):
            picked = main.call_function(operator.getitem, (result, place)) if sent[1:] else result
            values[node] = picked
    main.node_copy(module.graph.output_node(), values.__getitem__)
    return fx.GraphModule(parts, main)


def _is_sent(node: fx.Node) -> bool:
    return node.op != "get_attr"
