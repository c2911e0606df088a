"""A subgraph rewriter: find a pattern in a graph, put something else in its place."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx.node import map_arg


def find_matches(graph: fx.Graph, pattern: fx.Graph) -> list[dict[fx.Node, Any]]:
    """Return the matches: for each node of the pattern, what it stands for in the graph."""
    result = _result(pattern)
    matches: list[dict[fx.Node, Any]] = []
    taken: set[fx.Node] = set()
    for node in graph.nodes:
        # From the result upwards: a value has many users, but is made in one place.
        match: dict[fx.Node, Any] = {}
        if not _fits(result, node, match):
            continue
        inner = _inner(match)
        leaks = any(user not in inner for made in inner - {node} for user in made.users)
        if not leaks and not inner & taken:
            matches.append(match)
            taken |= inner
    return matches


def _result(graph: fx.Graph) -> Any:
    *_, output = graph.nodes
    return output.args[0]


def _inner(match: dict[fx.Node, Any]) -> set[fx.Node]:
    return {found for wanted, found in match.items() if wanted.op != "placeholder"}


def _fits(wanted: Any, found: Any, match: dict[fx.Node, Any]) -> bool:
    if isinstance(wanted, fx.Node):
        return _node_fits(wanted, found, match)
    if isinstance(wanted, list | tuple):
        same = isinstance(found, list | tuple) and len(wanted) == len(found)
        return same and all(_fits(*pair, match) for pair in zip(wanted, found, strict=True))
    return _equal(wanted, found)


def _node_fits(wanted: fx.Node, found: Any, match: dict[fx.Node, Any]) -> bool:
    if wanted in match:
        return _equal(match[wanted], found)
    is_node = isinstance(found, fx.Node)
    if is_node and found in match.values():
        return False
    match[wanted] = found
    if wanted.op == "placeholder":
        return True
    if not is_node or (wanted.op, wanted.target) != (found.op, found.target):
        return False
    return (
        _fits(wanted.args, found.args, match)
        and wanted.kwargs.keys() == found.kwargs.keys()
        and all(_fits(wanted.kwargs[name], found.kwargs[name], match) for name in wanted.kwargs)
    )


def _equal(one: Any, other: Any) -> bool:
    # Of nodes, repr is the name, which no other node of the graph has. Of literals it tells
    # apart what == does not: 0.0 and -0.0.
    return type(one) is type(other) and repr(one) == repr(other)


def replace_pattern(gm: fx.GraphModule, pattern: fx.Graph, replacement: fx.Graph) -> int:
    """Put `replacement` in the place of each match of `pattern`; return how many there were."""
    old, new = ([n for n in g.nodes if n.op == "placeholder"] for g in (pattern, replacement))
    if len(old) != len(new):
        raise ValueError(f"the pattern has {len(old)} placeholders, the replacement {len(new)}")
    matches = find_matches(gm.graph, pattern)
    changed: dict[fx.Node, fx.Node] = {}
    for match in matches:
        # An input of this match may be the result of an earlier one, which is gone.
        inputs = [map_arg(match[node], lambda n: changed.get(n, n)) for node in old]
        result = match[_result(pattern)]
        with gm.graph.inserting_before(result):
            copied = gm.graph.graph_copy(replacement, dict(zip(new, inputs, strict=True)))
        result.replace_all_uses_with(copied)
        changed[result] = copied
        # Backwards: a node can be erased once its users are.
        for node in reversed(pattern.nodes):
            if node in match and node.op != "placeholder":
                gm.graph.erase_node(match[node])
    gm.recompile()
    return len(matches)
