"""Fold until nothing changes, and sweep until nothing changes, a node at a time."""

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
    """Return the nodes of a block in order, and behind each those of the blocks in it."""
    return [
        each
        for node in block.nodes()
        for each in (node, *(inner for child in node.blocks() for inner in nodes_of(child)))
    ]


def value_of(node: Node) -> int | None:
    """Return what a node computes, modulo 2**64 and signed; None if that is for later."""
    constants = [x for x in node.inputs() if x.node().kind() == "prim::Constant"]
    types = [str(x.type()) for x in constants]
    if node.kind() not in FOLDS or types != ["int", "int"] or node.inputsSize() != len(types):
        return None
    left, right = (x.node().i("value") for x in constants)
    if node.kind() == "aten::floordiv" and right == 0:
        return None
    return (FOLDS[node.kind()](left, right) + 2**63) % 2**64 - 2**63


def fold(graph: Graph) -> None:
    """Replace each node whose kind is in FOLDS and whose inputs are two constant ints."""
    ready = [(node, value) for node in nodes_of(graph) if (value := value_of(node)) is not None]
    if ready:
        node, value = ready[0]
        made = graph.create("prim::Constant", 1)
        made.i_("value", value)
        made.output().setType(node.output().type())
        made.insertBefore(node)
        node.output().replaceAllUsesWith(made.output())
        node.destroy()
        fold(graph)


def acts(node: Node) -> bool:
    """Return whether a node does more than compute its outputs, or a node in its blocks does."""
    if node.kind() in ACTS or "!" in node.schema():
        return True
    return any(acts(each) for block in node.blocks() for each in block.nodes())


def sweep(graph: Graph) -> None:
    """Destroy the nodes that do not act and whose outputs nothing uses, until none is left."""
    unused = [
        node
        for node in nodes_of(graph)
        if not acts(node) and not any(x.uses() for x in node.outputs())
    ]
    if unused:
        unused[-1].destroy()
        sweep(graph)
