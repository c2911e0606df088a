"""Draws a function, its graph, its joint graph, and the cut of that: the picture of lecture 10.

The graphs are PyTorch's: the function is traced, differentiated and partitioned here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx.experimental.proxy_tensor import make_fx

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Iterable


# The katas under each column, and its heading.
COLUMNS = (
    ("the graph", "k01 to k20"),
    ("the joint graph", "k21"),
    ("forward", "k22 to k24, k40"),
    ("backward", "k22 to k24, k40"),
)
# In pixels: a column, a box, a row.
WIDE, BOX, ROW, TOP = 190, 150, 28, 64


def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Compute the function of the picture."""
    return torch.exp(torch.sin(torch.mm(x, w)))


def graphs() -> tuple[Iterable[fx.Node], ...]:
    """Return the nodes of the graph, of the joint graph, and of its two parts."""

    def joint(primals: Any, tangents: Any) -> Any:
        output = function(*primals)
        return [output, *torch.autograd.grad(output, primals, tangents)]

    primals = (torch.ones(4, 8, requires_grad=True), torch.ones(8, 2, requires_grad=True))
    traced = make_fx(joint, tracing_mode="fake")(primals, (torch.ones(4, 2),))
    forward, backward = min_cut_rematerialization_partition(traced, (), num_fwd_outputs=1)
    return tuple(
        [node for node in graph.nodes if node.op != "output"]
        for graph in (
            fx.symbolic_trace(function).graph,
            traced.graph,
            forward.graph,
            backward.graph,
        )
    )


def svg() -> str:
    """Draw a box for each node, in a column for each graph."""
    shapes, told, deepest = [], [], 0
    for place, ((heading, katas), nodes) in enumerate(zip(COLUMNS, graphs(), strict=True)):
        x, names = EDGE + WIDE * place, []
        shapes += [text(x, 24, heading, "b"), text(x, 44, katas, "c")]
        for row, node in enumerate(nodes):
            y, saved = (
                TOP + ROW * row,
                heading == "backward" and not node.name.startswith("tangent"),
            )
            given = node.op == "placeholder"
            colour = "gold" if given and saved else "" if given else "blue"
            box = f'width="{BOX}" height="{ROW - 6}"'
            shapes.append(f'<rect x="{x}" y="{y}" {box} class="{colour}"/>')
            shapes.append(text(x + BOX / 2, y + 16, node.name, "m"))
            names.append(node.name)
            deepest = max(deepest, row + 1)
        told.append(f"{heading}: {', '.join(names)}")
    low = TOP + ROW * deepest + 8
    for colour, words, right in (
        ("", "an input", 0),
        ("blue", "an operator", 150),
        ("gold", "saved", 320),
    ):
        shapes.append(
            f'<rect x="{EDGE + right}" y="{low}" width="16" height="16" class="{colour}"/>'
        )
        shapes.append(text(EDGE + right + 24, low + 13, words, "c"))
    return document(
        2 * EDGE + WIDE * (len(COLUMNS) - 1) + BOX,
        low + 30,
        title="A function as a graph, a joint graph, and two parts of that",
        description="; ".join(told),
        shapes=shapes,
    )
