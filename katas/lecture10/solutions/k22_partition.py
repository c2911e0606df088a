"""Cut the joint graph in two."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING
from typing import Any

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Iterable


def walk_back(results: Iterable[fx.Node | None], known: set[fx.Node]) -> set[fx.Node]:
    """Return what `results` are computed from, themselves included, up to `known`. Given.

    None is skipped. Known nodes, and what only they are computed from, are left out.
    """
    met: set[fx.Node] = set()
    waiting = [node for node in results if node is not None]
    while waiting:
        node = waiting.pop()
        if node not in met | known:
            met.add(node)
            waiting += node.all_input_nodes
    return met


def partition(joint: fx.GraphModule, num_outputs: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return a graph of forward and one of backward, with what is saved in between."""
    *nodes, output = joint.graph.nodes
    outputs, gradients = output.args[0][:num_outputs], output.args[0][num_outputs:]
    inputs = joint.graph.find_nodes(op="placeholder")
    primals, tangents = inputs[:-num_outputs], inputs[-num_outputs:]
    forward = walk_back(outputs, set()) | set(primals)
    # A tuple cannot be saved, so its items belong to the same part as the tuple.
    forward |= {x for x in nodes if x.target is operator.getitem and x.args[0] in forward}
    backward = walk_back(gradients, forward)
    wanted = {before for node in backward for before in node.all_input_nodes} | set(gradients)
    saved = [node for node in nodes if node in forward & wanted]
    return (
        _extract(joint, primals, forward, (*outputs, *saved)),
        _extract(joint, (*saved, *tangents), backward, gradients),
    )


def _extract(joint: fx.GraphModule, inputs: Any, members: set[fx.Node], results: Any) -> Any:
    """Return a module with some nodes of `joint`, in the same order."""
    graph = fx.Graph()
    copies = {node: graph.placeholder(node.name) for node in inputs}
    for node in joint.graph.nodes:
        if node in members and node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(None if node is None else copies[node] for node in results))
    # Items that nothing uses came in with their tuple.
    graph.eliminate_dead_code()
    return fx.GraphModule(joint, graph)
