"""Replace each match with something else.

A matcher finds where a pattern occurs. Putting a replacement there takes four moves for each match:
copy, redirect, remember, erase. Each move is one call of FX; the order is what matters.

    a                       a                        a
    relu  <- match 1        clamp                    clamp
    relu_1(relu)  <- 2      relu_1(clamp)            clamp_1(clamp)

The input of match 2 is the *result of match 1*, which is gone when match 2 is replaced.

Write `replace_pattern`, about 15 lines. The matcher is given: PyTorch's.

Begin on paper: why must the nodes of a match be erased from the end?
Afterwards read ``_replace_pattern`` in ``torch/fx/subgraph_rewriter.py``: where does it remember
what you remember?
"""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx.node import map_arg
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher


def find_matches(graph: fx.Graph, pattern: fx.Graph) -> list[dict[fx.Node, Any]]:
    """Return the matches, in the order of results: what each pattern node stands for. Given."""
    found = SubgraphMatcher(pattern, match_output=False, ignore_literals=False).match(graph)
    places = {node: place for place, node in enumerate(graph.nodes)}
    found.sort(key=lambda match: places[match.nodes_map[match.anchors[0]]])
    return [dict(match.nodes_map) for match in found]


def replace_pattern(gm: fx.GraphModule, pattern: fx.Graph, replacement: fx.Graph) -> int:
    """Replace each match in place, and return how many there were.

    For each match of the graph as it was: put a copy of the replacement's calls
    (``Graph.graph_copy``) right before the match's result, with what the pattern's placeholders
    stood for in place of its own placeholders, in order. Let all users of the result use the copy's
    result, and erase only the calls of the match. Do not search the replacements again.

    The replacement may be just one of its placeholders. Leave `pattern` and `replacement` as they
    are. Recompile at the end. If the two have different numbers of placeholders, raise a ValueError
    that says "placeholders" before anything is changed.
    """
    # TODO: find all matches first, then copy, redirect, remember and erase.
    raise NotImplementedError("replace_pattern")
