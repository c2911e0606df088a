"""Rewrite a TorchScript graph in place: fold constants, sweep unused nodes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import Block
    from torch import Graph
    from torch import Node

FOLDS = {
    "aten::add": operator.add,
    "aten::sub": operator.sub,
    "aten::mul": operator.mul,
    "aten::floordiv": operator.floordiv,
}
ACTS = ("prim::Print", "prim::RaiseException", "prim::SetAttr", "aten::warn")


def nodes_of(block: Graph | Block) -> list[Node]:
    """Return the nodes of a block in order, each followed by those of its own blocks. Given."""
    return [
        each
        for node in block.nodes()
        for each in (node, *(inner for child in node.blocks() for inner in nodes_of(child)))
    ]


def fold(graph: Graph) -> None:
    """Replace each node whose kind is in FOLDS and whose inputs are two constant ints."""
    for node in nodes_of(graph):
        # None if an input is not a constant.
        values = [x.toIValue() for x in node.inputs()]
        if node.kind() not in FOLDS or [type(x) for x in values] != [int, int]:
            continue
        try:
            result = FOLDS[node.kind()](*values)
            with graph.insert_point_guard(node):
                constant = graph.insertConstant(result)  # type: ignore[attr-defined, unused-ignore]
        except (ZeroDivisionError, TypeError):
            continue
        node.output().replaceAllUsesWith(constant)
        node.destroy()


def acts(node: Node) -> bool:
    """Return whether a node, or a node in its blocks, does more than compute its outputs."""
    inner = [each for block in node.blocks() for each in nodes_of(block)]
    return any(each.kind() in ACTS or "!" in each.schema() for each in (node, *inner))


def sweep(graph: Graph) -> None:
    """Destroy nodes that do not act and whose outputs have no uses, until none is left."""
    for node in reversed(nodes_of(graph)):
        if not node.hasUses() and not acts(node):
            node.destroy()
