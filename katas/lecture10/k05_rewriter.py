"""A subgraph rewriter: find a pattern in a graph, put something else in its place.

Quantization, fusion, lowering to a device: most of what is done to a graph has the form "wherever
you see this, put that". Both are written as functions and traced: ::

    def pattern(x, y):                    def replacement(x, y):
        return torch.relu(x + y)              return fused_add_relu(x, y)

Write ``find_matches(graph, pattern)`` and ``replace_pattern(gm, pattern, replacement)``, where
`pattern` and `replacement` are graphs, as ``symbolic_trace(function).graph``. They hold
placeholders, call_function, call_method and one output, the result, which is a node; every
placeholder and call of the pattern is used for its result, and the result is a call.

A *match* is a dictionary from each node of the pattern (the output aside) to what it stands for in
the graph. Starting from the result of the pattern, its arguments are compared with those of the
node in the graph, theirs in turn, and so on upwards:

- A placeholder stands for anything: a node, or a literal (a number, None, a dtype, a list of
  literals). If it is met again, it must stand for the same: the same node, or a literal of the
  same type and value.
- A call stands for a call with the same op, target and number of arguments, and with the same
  keywords (in any order), where each argument of the one stands for that of the other.
- A literal stands for a literal of the same type and value: 1 is not 1.0, 0.0 is not -0.0. Lists
  and tuples are compared item by item, and may hold nodes; a list may stand for a tuple.
- Two nodes of the pattern, placeholders included, stand for two different nodes of the graph.
  (``x + y`` does not match ``a + a``. PyTorch has the same rule.)

Not every such dictionary is good for a replacement:

- What is computed inside of a match, the result aside, goes away: if any of it is used by a node
  outside of the match, the output included, there is no match. The result may be used anywhere,
  and what placeholders stand for, too.
- Two matches have no call in common. Candidates are taken in the order in which their results
  stand in the graph; one that shares a call with a match taken before is left out.

``find_matches`` returns the matches in the order of their results, and changes nothing.
``replace_pattern`` finds them, and then, for each, puts a copy of the replacement's calls right
before the result, its placeholders in order being what those of the pattern stood for, lets all
users of the result use the copy's result, and erases the calls of the match. Matches are those of
the graph as it was: what replacements bring in is not searched again, so that ``x`` may become
``relu(x)`` where ``relu(x)`` was, or ``relu(relu(x))``. But an input of one match may be the
result of another, which is gone by then. `gm` is changed in place, its graph stays valid
(``graph.lint()``) and its code becomes the new graph's (``gm.recompile()``); `pattern` and
`replacement` stay as they are. Returned is the number of matches. The replacement may be as little
as one of its placeholders. If it has not as many placeholders as the pattern, raise a ValueError
that says "placeholders", before anything is changed.

About 50 lines. ``Graph.graph_copy``, ``Graph.inserting_before`` and ``Graph.erase_node`` are
yours to use. Do not use ``torch.fx.subgraph_rewriter``, ``SubgraphMatcher`` or Inductor's
pattern matcher. Out of scope: several results, modules and attributes in the pattern or in the
replacement, defaults that are spelled out on one side only, slices with nodes, a list with nodes
for a placeholder, a replacement that is a placeholder which stands for a literal, graphs that
write to tensors (the copy runs where the result ran, not where each call did), and metadata.

In PyTorch: ``torch/fx/subgraph_rewriter.py`` (``replace_pattern``),
``torch/fx/passes/utils/matcher_utils.py`` (``SubgraphMatcher``).
"""

from __future__ import annotations

from typing import Any

from torch import fx  # noqa: TC002 - your answer calls it


def find_matches(graph: fx.Graph, pattern: fx.Graph) -> list[dict[fx.Node, Any]]:
    """Return the matches: for each node of the pattern, what it stands for in the graph."""
    # TODO: try each node of the graph as the result of the pattern.
    raise NotImplementedError("find_matches")


def replace_pattern(gm: fx.GraphModule, pattern: fx.Graph, replacement: fx.Graph) -> int:
    """Put `replacement` in the place of each match of `pattern`; return how many there were."""
    # TODO: find all matches first, then copy, redirect and erase.
    raise NotImplementedError("replace_pattern")
