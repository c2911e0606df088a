"""Compute the same thing once."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx


def may_write(node: fx.Node) -> bool:
    """Return whether a node may write to one of its arguments. Given."""
    if node.op in {"placeholder", "get_attr", "output"} or node.target is operator.getitem:
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001
        return True
    return bool(node.target._schema.is_mutable)  # noqa: SLF001


def is_pure(node: fx.Node) -> bool:
    """Return whether a node is pure: no side effects, and the same value each time. Given."""
    if node.op in {"placeholder", "output"} or may_write(node):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001 - it has no other name
        return True
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    # A call that returns nothing is made for its effect, as an assertion is.
    return not random and bool(node.target._schema.returns)  # noqa: SLF001


def merge_duplicates(gm: fx.GraphModule) -> int:
    """Merge nodes that compute the same; return by how many nodes the graph has shrunk."""
    if any(may_write(node) for node in gm.graph.nodes):
        return 0
    before = len(gm.graph.nodes)
    first: dict[Any, fx.Node] = {}
    for node in gm.graph.nodes:
        if not is_pure(node):
            continue
        # Its arguments are first nodes already: any duplicates came before it.
        key = (node.target, _key(node.args), _key(node.kwargs))
        if key in first:
            node.replace_all_uses_with(first[key])
            gm.graph.erase_node(node)
        else:
            first[key] = node
    gm.recompile()
    return before - len(gm.graph.nodes)


def _key(value: Any) -> Any:
    if isinstance(value, fx.Node):
        return value
    if isinstance(value, dict):
        return frozenset((name, _key(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_key(item) for item in value)
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0; what is computed with them is not.
    return type(value), repr(value)
