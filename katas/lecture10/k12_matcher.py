"""Find a pattern in a graph.

Fusion, quantization, lowering to a device: most passes over a graph begin with "wherever you see
this". The pattern is a graph as well, traced from a function. Its placeholders are wildcards:

    pattern: relu(x + y)          graph: relu(sin(a) + b) * b

    x -> sin    y -> b            "users" point down from a value; the search goes
    add -> add                    up, from the pattern's result to its inputs
    relu -> relu

Write `fits`, a recursive function that compares an item of the pattern with an item of the graph
and records what each node stands for, and `is_closed`: about 25 lines.

- A placeholder stands for anything; if it occurs twice, it stands for the same thing both times.
- Two nodes of the pattern stand for two different nodes, placeholders too: ``x + y`` does not match
  ``a + a``.
- A value that is computed inside a match and used outside forbids the match.

Begin on paper: does ``x * sigmoid(x)`` match ``a * sigmoid(b)``?
Afterwards read ``SubgraphMatcher`` in ``torch/fx/passes/utils/matcher_utils.py``.
"""

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
    """Return whether an item of the pattern may stand for an item of the graph.

    `match` records what each node of the pattern stands for: a node of the graph or, for a
    placeholder, possibly a literal. A call stands for a call with the same op, target, number of
    arguments and keywords (in any order), whose arguments stand for one another. Lists and tuples
    are compared item by item, and a list may stand for a tuple; literals must be `equal`.
    """
    # TODO: lists and tuples, literals, nodes met before, placeholders, calls.
    raise NotImplementedError("fits")


def is_closed(match: dict[fx.Node, Any], result: fx.Node) -> bool:
    """Return whether no call of a match, except its result, has a user outside the match.

    The output is a user too. What placeholders stand for may be used anywhere.
    """
    # TODO: Node.users.
    raise NotImplementedError("is_closed")


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
