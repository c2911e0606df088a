"""Draws the graph that lecture 03 opens with.

The graph is PyTorch's: three lines are run, their nodes walked, and a backward says in which order
the engine takes them. Only the places on the paper are chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.autograd.graph import get_gradient_edge

from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from torch.autograd.graph import Node


# The operators of forward, from left to right, each with the tensor that it returns.
OPERATORS = {"mul": "y = x * w", "exp": "y.exp()", "add": "y.exp() + y", "sum": "z"}
# In pixels: the middle of each column, and of the rows.
LEAVES, FIRST, STEP = 90, 245, 150
FORWARD, BACKWARD, SHIFT = 90, 262, 36
WIDE, HIGH = 124, 50
DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 390" role="img"
 aria-labelledby="t d">
<title id="t">What forward leaves behind, and the order in which backward runs it</title>
<desc id="d">{description}</desc>
<style>
svg {{ --paper: #fbfaf7; --ink: #22262b; --pale: #6a6f76; --f: #1a5fb4; --b: #b3261e; }}
@media (prefers-color-scheme: dark) {{
  svg {{ --paper: #16191d; --ink: #e4e6e8; --pale: #9aa0a8; --f: #8ab8f5; --b: #ff8a80; }}
}}
rect {{ fill: var(--paper); stroke: var(--pale); }}
text {{ font: 13px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }}
path {{ fill: none; stroke: var(--pale); stroke-width: 1.5; }}
.m {{ font-family: ui-monospace, Menlo, Consolas, monospace; }}
.c {{ fill: var(--pale); }} .l {{ text-anchor: start; }}
.f {{ stroke: var(--f); }} text.f {{ fill: var(--f); stroke: none; font-weight: bold; }}
.b {{ stroke: var(--b); }} text.b {{ fill: var(--b); stroke: none; font-weight: bold; }}
.d {{ stroke-dasharray: 3 4; }}
marker path {{ stroke: none; }}
#hf path {{ fill: var(--f); }} #hb path {{ fill: var(--b); }}
</style>
<defs>{heads}</defs>
<rect x="0.5" y="0.5" width="839" height="389" rx="8"/>
{parts}
</svg>
"""
HEAD = (
    '<marker id="h{0}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
)


@dataclass(frozen=True)
class Drawn:
    """A node as it is drawn: its name, what it saves, its turn, and how many edges lead to it."""

    name: str
    saves: tuple[str, ...]
    turn: int
    edges: int
    # The turns of the nodes that it sends gradients to.
    sends: tuple[int, ...]


def read_nodes() -> list[Drawn]:
    """Run the three lines and their backward, and return the nodes by their turns."""
    x, w = (torch.ones(2, requires_grad=True) for _ in "xw")
    y = x * w
    z = (y.exp() + y).sum()
    found = [get_gradient_edge(z).node]
    for node in found:
        found += [child for child in targets(node) if child not in found]
    # Before backward frees it.
    saves = {node: tuple(saved_by(node)) for node in found}
    order: list[Node] = []
    for node in found:
        node.register_prehook(lambda _, node=node: order.append(node))
    z.backward()
    # Both leaves may run at once, and which is first is a matter of the heap.
    leaves = [node for node in found if not targets(node)]
    turns = {node: turn for turn, node in enumerate([*order[: -len(leaves)], *leaves], 1)}
    edges = [child for node in found for child in targets(node)]
    return [
        Drawn(
            node.name().rpartition("::")[2],
            saves[node],
            turn,
            edges.count(node),
            tuple(turns[child] for child in targets(node)),
        )
        for node, turn in turns.items()
    ]


def targets(node: Node) -> list[Node]:
    """Return the nodes that a node sends gradients to."""
    return [child for child, _ in node.next_functions if child is not None]


def saved_by(node: Node) -> Iterator[str]:
    """Yield the names of the tensors that a node has saved."""
    for name in dir(node):
        if name.startswith("_saved_") and isinstance(getattr(node, name), torch.Tensor):
            yield name.removeprefix("_saved_")


def places(nodes: Sequence[Drawn]) -> dict[int, tuple[int, int]]:
    """Return where each turn is drawn: below its operator, the leaves on the left."""
    inner = [node for node in nodes if node.sends]
    leaves = [node for node in nodes if not node.sends]
    last = FIRST + STEP * (len(inner) - 1)
    found = {node.turn: (last - STEP * column, BACKWARD) for column, node in enumerate(inner)}
    for node, shift in zip(leaves, (-SHIFT, SHIFT), strict=True):
        found[node.turn] = (LEAVES, BACKWARD + shift)
    return found


def arrow(kind: str, path: str) -> str:
    """Return a line with a head, in the colour of forward or backward."""
    return f'<path class="{kind}" d="{path}" marker-end="url(#h{kind})"/>'


def box(x: float, y: float, wide: float, high: float) -> str:
    """Return a box around a point."""
    return (
        f'<rect x="{x - wide / 2:g}" y="{y - high / 2:g}" width="{wide:g}" height="{high:g}" '
        'rx="6"/>'
    )


def draw_forward() -> Iterator[str]:
    """Draw what the three lines compute, from left to right."""
    yield text(20, 30, "forward computes, and leaves a node for each operator", "f l")
    columns = [FIRST + STEP * column for column in range(len(OPERATORS))]
    for name, shift in (("x", -16), ("w", 16)):
        yield text(LEAVES, FORWARD + shift + 5, name, "m")
        yield arrow(
            "f", f"M{LEAVES + 10} {FORWARD + shift}L{columns[0] - 36} {FORWARD + shift / 3:g}"
        )
    for column, before in zip(columns[1:], columns, strict=False):
        yield arrow("f", f"M{before + 34} {FORWARD}L{column - 36} {FORWARD}")
    # y is used twice.
    high = FORWARD - 44
    first, third = columns[0], columns[2]
    yield arrow(
        "f", f"M{first} {FORWARD - 15}C{first} {high} {third} {high} {third} {FORWARD - 17}"
    )
    for column, (name, result) in zip(columns, OPERATORS.items(), strict=True):
        yield box(column, FORWARD, 66, 30)
        yield text(column, FORWARD + 5, name, "m")
        yield text(column, FORWARD + 34, result, "m c")
        yield f'<path class="d" d="M{column} {FORWARD + 44}V{BACKWARD - HIGH / 2 - 24:g}"/>'


def draw_backward(nodes: Sequence[Drawn]) -> Iterator[str]:
    """Draw the nodes, each with its turn, and the edges along which gradients go."""
    place = places(nodes)
    yield text(20, 172, "backward runs them", "b l")
    right, low = place[1][0] + WIDE / 2, BACKWARD + 86
    yield arrow("b", f"M{right + 34:g} {BACKWARD}L{right + 4:g} {BACKWARD}")
    yield text(right + 44, BACKWARD + 5, "1", "m")
    for node in nodes:
        x, y = place[node.turn]
        for turn in node.sends:
            to, down = place[turn]
            if x - to > STEP + WIDE / 2:
                middle = f"C{x} {low} {to} {low}"
                yield arrow("b", f"M{x} {y + HIGH / 2:g}{middle} {to} {down + HIGH / 2 + 3:g}")
            else:
                yield arrow("b", f"M{x - WIDE / 2:g} {y}L{to + WIDE / 2 + 4:g} {down}")
    for node in nodes:
        x, y = place[node.turn]
        yield box(x, y, WIDE, HIGH)
        yield text(x, y - 4, node.name, "m")
        yield text(x, y + 15, does(node), "c")
        waits = f", waits for {node.edges}" if node.edges > 1 else ""
        yield text(x + 8 - WIDE / 2, y - HIGH / 2 - 6, f"{node.turn}{waits}", "b l")
    yield text(
        20,
        374,
        "The numbers are the engine's order: a node runs when each edge to it was followed.",
        "c l",
    )


def does(node: Drawn) -> str:
    """Return what a node has saved, or what a leaf's does."""
    if not node.sends:
        return "adds to .grad"
    return f"saves {', '.join(node.saves)}" if node.saves else "saves no tensor"


def svg_of(nodes: Sequence[Drawn]) -> str:
    """Return the picture."""
    order = ", ".join(f"{node.turn} {node.name} ({does(node)})" for node in nodes)
    return DOCUMENT.format(
        description=f"Forward: x and w, mul, exp, add, sum. Backward runs: {order}.",
        heads="".join(map(HEAD.format, "fb")),
        parts="\n".join([*draw_forward(), *draw_backward(nodes)]),
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(read_nodes())
