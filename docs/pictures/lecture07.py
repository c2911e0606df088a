"""Draws the rows of a GPU's trace, the picture of lecture 07."""

from __future__ import annotations

from docs.pictures.drawing import CELL
from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text
from katas.lecture07.conftest import GPU


def svg() -> str:
    """Draw the rows of a GPU's trace, and below them when it was busy."""
    left, wide, tall, scale = 150, 111, 44, 5
    titles = ("compute", "communication", "copies", "busy")
    shapes = [text(EDGE, 40 + tall * row, title, "b") for row, title in enumerate(titles)]
    for name, _, start, end in GPU:
        row = 2 if name.startswith("Mem") else int(name.startswith("nccl"))
        # Two kernels that run together: the later one a little lower.
        top = 22 + tall * row + (8 if name == "reduce_kernel" else 0)
        colour = ("blue", "gold", "")[row]
        shapes += [
            f'<rect x="{left + scale * start}" y="{y}" width="{scale * (end - start)}"'
            f' height="{CELL - 8}" class="{style}"/>'
            for y, style in ((top, colour), (22 + tall * 3, "blue"))
        ]
    low = 22 + tall * 4
    shapes += [
        text(left + scale * time, low + 8, str(time), "c m") for time in range(0, wide + 1, 10)
    ]
    shapes.append(text(EDGE, low + 34, "time in microseconds; what no row covers is idle", "c"))
    width, height = left + scale * wide + EDGE, tall * 4 + 76
    return document(
        width,
        height,
        title="A GPU's trace: compute, communication, copies",
        description="; ".join(f"{n} from {start} to {end}" for n, _, start, end in GPU),
        shapes=shapes,
    )
