"""Replace each match with something else."""

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
    """Replace each match of `pattern` with `replacement`; return how many there were."""
    old, new = (graph.find_nodes(op="placeholder") for graph in (pattern, replacement))
    if len(old) != len(new):
        raise ValueError(f"the pattern has {len(old)} placeholders, the replacement {len(new)}")
    matches = find_matches(gm.graph, pattern)
    (wanted,) = pattern.output_node().args
    changed: dict[fx.Node, fx.Node] = {}
    for match in matches:
        # An input of this match may be the result of an earlier one, which is erased by now.
        inputs = [map_arg(match[node], lambda n: changed.get(n, n)) for node in old]
        result = match[wanted]
        with gm.graph.inserting_before(result):
            copied = gm.graph.graph_copy(replacement, dict(zip(new, inputs, strict=True)))
        result.replace_all_uses_with(copied)
        changed[result] = copied
        # Backwards: a node can be erased once its users are.
        for node in reversed(pattern.nodes):
            if node.op.startswith("call_"):
                gm.graph.erase_node(match[node])
    gm.recompile()
    return len(matches)
