"""Rewrite a TorchScript graph in place: fold constants, sweep unused nodes.

TorchScript is deprecated, but its graphs still run: nodes in order, blocks within nodes, each value
defined before its uses. A pass edits them in place:

    %1 : int = prim::Constant[value=2]()           %1 : int = prim::Constant[value=2]()
    %2 : int = prim::Constant[value=3]()
    %3 : int = aten::mul(%1, %2)             ->    %5 : int = prim::Constant[value=6]()
    %4 : Tensor = aten::add(%x, %3, %1)            %4 : Tensor = aten::add(%x, %5, %1)

1. `fold`: %5 replaces %3, and the uses of %3 move to it.
2. `sweep`: remove nodes without uses, here %2. Printing, prim::RaiseException and writes stay.

Together about 18 lines; ``dir(torch.Graph)`` and ``dir(torch.Node)`` list your tools.

Begin on paper: in which order does ``sweep`` visit a chain of three unused nodes?
Afterwards read ``torch/csrc/jit/passes/constant_propagation.cpp`` in PyTorch's repository.
"""

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
    """Replace each node whose kind is in FOLDS and whose inputs are two constant ints.

    Put the new constant where the node was; it may make the next fold possible. Leave a division by
    zero in the graph, so that it raises when it runs. An overflow may stay too, or become the
    64-bit int to which it wraps. Leave the graph's insert point where it is; it is never at a node
    that you fold.
    """
    # TODO: toIValue, insertConstant, replaceAllUsesWith, destroy.
    raise NotImplementedError("fold")


def acts(node: Node) -> bool:
    """Return whether a node, or a node in its blocks, does more than compute its outputs.

    That is: its kind is in ACTS, or its ``schema()`` marks an argument as written, as in
    ``Tensor(a!)``.
    """
    # TODO: one expression.
    raise NotImplementedError("acts")


def sweep(graph: Graph) -> None:
    """Destroy nodes that do not act and whose outputs have no uses, until none is left."""
    # TODO: the order matters.
    raise NotImplementedError("sweep")
