"""Compute now what depends on no input."""

from __future__ import annotations

import operator
from itertools import count
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg


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


def value_of(gm: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """Return the value of a get_attr or a call, given the values of its inputs. Given."""
    if node.op == "get_attr":
        return operator.attrgetter(node.target)(gm)
    args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
    return node.target(*args, **kwargs)


def fold_constants(gm: fx.GraphModule) -> int:
    """Compute now what depends on no input; return by how many nodes the graph has shrunk."""
    if any(may_write(node) for node in gm.graph.nodes):
        return 0
    before = len(gm.graph.nodes)
    values: dict[fx.Node, Any] = {}
    with torch.no_grad():
        for node in gm.graph.nodes:
            if is_pure(node) and all(used in values for used in node.all_input_nodes):
                values[node] = value_of(gm, node, values)
    for node, value in values.items():
        needed = any(user not in values for user in node.users)
        if needed and node.op == "call_function" and isinstance(value, torch.Tensor):
            names = (f"_folded_{number}" for number in count())
            name = next(name for name in names if not hasattr(gm, name))
            gm.register_buffer(name, value.detach())
            with gm.graph.inserting_before(node):
                node.replace_all_uses_with(gm.graph.get_attr(name))
    gm.graph.eliminate_dead_code(lambda node: not is_pure(node))
    gm.recompile()
    return before - len(gm.graph.nodes)
