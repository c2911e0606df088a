"""Split a model into stages, as evenly as possible."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


def is_sent(node: fx.Node) -> bool:
    """Return whether a value is sent: a parameter (get_attr) is already where it is used. Given."""
    return node.op != "get_attr"


def stage_cost(
    stage: list[fx.Node], cost: Callable[[fx.Node], int], size: Callable[[fx.Node], int]
) -> int:
    """Return the cost of a stage: that of its own nodes and of the values that it receives."""
    received = {value for node in stage for value in node.all_input_nodes if is_sent(value)}
    return sum(map(cost, stage)) + sum(map(size, received - set(stage)))


def partition(
    module: fx.GraphModule,
    count: int,
    cost: Callable[[fx.Node], int],
    size: Callable[[fx.Node], int],
) -> list[list[fx.Node]]:
    """Split a graph's calls into `count` stages whose most expensive one is as cheap as can be."""
    calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
    total = len(calls)
    if not 1 <= count <= total:
        raise ValueError(f"cannot make {count} stages of {total} calls")
    prices = {
        (start, stop): stage_cost(calls[start:stop], cost, size)
        for start, stop in combinations(range(total + 1), 2)
    }
    # For the first `stop` calls: the price of the worst stage, and where each stage ends. A
    # stage's price does not depend on how earlier calls are cut, so the best cut of them is enough.
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
