"""A pass that does not forget that sizes vary."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx


aten = torch.ops.aten


def call(graph: fx.Graph, target: Any, *args: Any) -> fx.Node:
    """Add a call with its fake value in ``meta["val"]``, and return it. Given."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*fx.node.map_arg(args, lambda n: n.meta["val"]))
    return node


def decompose_mean(gm: fx.GraphModule) -> int:
    """Replace each mean with a sum and a quotient; return how many there were."""
    means = gm.graph.find_nodes(op="call_function", target=aten.mean.dim)
    for node in means:
        x, dims = node.args[:2]
        with gm.graph.inserting_before(node):
            total = call(gm.graph, aten.sum.dim_IntList, *node.args)
            number, count = 1, None
            for dim in dims:
                size = x.meta["val"].shape[dim]
                if isinstance(size, torch.SymInt):
                    size = call(gm.graph, aten.sym_size.int, x, dim)
                    count = call(gm.graph, operator.mul, count, size) if count else size
                else:
                    number *= size
            if count is not None and number != 1:
                count = call(gm.graph, operator.mul, count, number)
            new = call(gm.graph, aten.div.Tensor, total, number if count is None else count)
        node.replace_all_uses_with(new)
        gm.graph.erase_node(node)
    gm.recompile()
    return len(means)
