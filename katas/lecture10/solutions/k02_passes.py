"""Three passes: dead code, constants, and the same thing computed twice."""

from __future__ import annotations

import operator
from itertools import count
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg


def is_pure(node: fx.Node) -> bool:
    """Return whether all that `node` does is to compute its value, the same one each time."""
    if node.op in {"placeholder", "output"} or _may_write(node):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001 - it has no other name
        return True
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    # What returns nothing is called for what it does: an assertion.
    return not random and bool(node.target._schema.returns)  # noqa: SLF001


def _may_write(node: fx.Node) -> bool:
    if node.op in {"placeholder", "get_attr", "output"} or node.target is operator.getitem:
        return False
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001
        return True
    return bool(node.target._schema.is_mutable)  # noqa: SLF001


def eliminate_dead_code(gm: fx.GraphModule) -> int:
    """Remove pure nodes that nothing uses; return by how many nodes the graph is shorter."""
    before = len(gm.graph.nodes)
    # Backwards: a node whose last user has just gone is met later.
    for node in reversed(gm.graph.nodes):
        if is_pure(node) and not node.users:
            gm.graph.erase_node(node)
    gm.recompile()
    return before - len(gm.graph.nodes)


def fold_constants(gm: fx.GraphModule) -> int:
    """Compute now what depends on no input; return by how many nodes the graph is shorter."""
    if any(_may_write(node) for node in gm.graph.nodes):
        return 0
    before = len(gm.graph.nodes)
    values: dict[fx.Node, Any] = {}
    with torch.no_grad():
        for node in gm.graph.nodes:
            if is_pure(node) and all(used in values for used in node.all_input_nodes):
                values[node] = _value(gm, node, values)
    for node, value in values.items():
        needed = any(user not in values for user in node.users)
        if needed and node.op == "call_function" and isinstance(value, torch.Tensor):
            names = (f"_folded_{number}" for number in count())
            name = next(name for name in names if not hasattr(gm, name))
            gm.register_buffer(name, value.detach())
            with gm.graph.inserting_before(node):
                node.replace_all_uses_with(gm.graph.get_attr(name))
    eliminate_dead_code(gm)
    return before - len(gm.graph.nodes)


def _value(gm: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    if node.op == "get_attr":
        return operator.attrgetter(node.target)(gm)
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    return node.target(*args, **kwargs)


def merge_duplicates(gm: fx.GraphModule) -> int:
    """Compute what is the same once; return by how many nodes the graph is shorter."""
    if any(_may_write(node) for node in gm.graph.nodes):
        return 0
    before = len(gm.graph.nodes)
    first: dict[Any, fx.Node] = {}
    for node in gm.graph.nodes:
        if not is_pure(node):
            continue
        # Its arguments are first ones already: their duplicates stood before it.
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
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0: not so what is computed with them.
    return type(value), repr(value)
