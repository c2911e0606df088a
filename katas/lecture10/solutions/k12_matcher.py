"""Find a pattern in a graph."""

from __future__ import annotations

from typing import Any

from torch import fx


def result_of(graph: fx.Graph) -> fx.Node:
    """Return the node that a pattern returns. Given."""
    return graph.output_node().args[0]


def equal(one: Any, other: Any) -> bool:
    """Return whether two literals have equal type and value, or two nodes are the same. Given.

    To ``==``, 1 and 1.0 are equal, and so are 0.0 and -0.0.
    """
    return type(one) is type(other) and repr(one) == repr(other)


def fits(wanted: Any, found: Any, match: dict[fx.Node, Any]) -> bool:
    """Return whether an item of the pattern may stand for an item of the graph."""
    if isinstance(wanted, list | tuple):
        same = isinstance(found, list | tuple) and len(wanted) == len(found)
        return same and all(fits(*pair, match) for pair in zip(wanted, found, strict=True))
    if not isinstance(wanted, fx.Node):
        return equal(wanted, found)
    if wanted in match:
        return equal(match[wanted], found)
    is_node = isinstance(found, fx.Node)
    if is_node and found in match.values():
        return False
    match[wanted] = found
    if wanted.op == "placeholder":
        return True
    names = wanted.kwargs.keys()
    return (
        is_node
        and (wanted.op, wanted.target) == (found.op, found.target)
        and fits(wanted.args, found.args, match)
        and names == found.kwargs.keys()
        and all(fits(wanted.kwargs[name], found.kwargs[name], match) for name in names)
    )


def is_closed(match: dict[fx.Node, Any], result: fx.Node) -> bool:
    """Return whether no call of a match, except its result, has a user outside the match."""
    inner = {found for wanted, found in match.items() if wanted.op != "placeholder"}
    return all(user in inner for made in inner - {result} for user in made.users)


def find_matches(graph: fx.Graph, pattern: fx.Graph) -> list[dict[fx.Node, Any]]:
    """Return the matches, in the order of their results; no call is in two of them. Given."""
    matches: list[dict[fx.Node, Any]] = []
    taken: set[fx.Node] = set()
    for node in graph.nodes:
        # From the result upwards: a value has many users, but is computed in one place.
        match: dict[fx.Node, Any] = {}
        if fits(result_of(pattern), node, match) and is_closed(match, node):
            inner = {found for wanted, found in match.items() if wanted.op != "placeholder"}
            if not inner & taken:
                matches.append(match)
                taken |= inner
    return matches
