"""Turn each stage into a module, and build a graph that passes values between them."""

from __future__ import annotations

import operator

from torch import fx


def is_sent(node: fx.Node) -> bool:
    """Return whether a value is sent: a parameter (get_attr) is already where it is used. Given."""
    return node.op != "get_attr"


def split(module: fx.GraphModule, stages: list[list[fx.Node]]) -> fx.GraphModule:
    """Return a module that calls one module for each stage, and passes values on."""
    main, parts = fx.Graph(), {}
    # Where an old node's value is found in the main graph.
    values = {node: main.node_copy(node) for node in module.graph.find_nodes(op="placeholder")}
    for number, stage in enumerate(stages):
        inside = set(stage)
        needed = [node for node in module.graph.nodes if inside & node.users.keys()]
        received = [node for node in needed if is_sent(node) and node not in inside]
        sent = [node for node in stage if node.users.keys() - inside]
        graph = fx.Graph()
        copies = {node: graph.placeholder(node.name) for node in received}
        for node in module.graph.nodes:
            # A parameter is in each stage that uses it, and is never sent.
            if node in inside or (node in needed and not is_sent(node)):
                copies[node] = graph.node_copy(node, copies.__getitem__)
        results = tuple(copies[node] for node in sent)
        graph.output(results[0] if len(sent) == 1 else results)
        parts[f"stage_{number}"] = fx.GraphModule(module, graph)
        called = main.call_module(f"stage_{number}", tuple(values[node] for node in received))
        for place, node in enumerate(sent):
            picked = main.call_function(operator.getitem, (called, place)) if sent[1:] else called
            values[node] = picked
    main.node_copy(module.graph.output_node(), values.__getitem__)
    return fx.GraphModule(parts, main)
