"""Drop what nobody needs, and nothing else."""

from __future__ import annotations

import operator

import torch
from torch import fx


def is_pure(node: fx.Node) -> bool:
    """Return whether `node` has no side effects and computes the same value each time."""
    if node.op == "get_attr" or node.target is operator.getitem:
        return True
    op = node.target
    if not isinstance(op, torch._ops.OpOverload):  # noqa: SLF001 - it has no other name
        return False
    random = torch.Tag.nondeterministic_seeded in op.tags
    # A call that returns nothing is made for its effect, as an assertion is.
    return not op._schema.is_mutable and not random and bool(op._schema.returns)  # noqa: SLF001


def eliminate_dead_code(gm: fx.GraphModule) -> int:
    """Remove pure nodes that nothing uses; return by how many nodes the graph is shorter."""
    before = len(gm.graph.nodes)
    # Backwards: a node whose last user has just gone is met later.
    for node in reversed(gm.graph.nodes):
        if is_pure(node) and not node.users:
            gm.graph.erase_node(node)
    gm.recompile()
    return before - len(gm.graph.nodes)
