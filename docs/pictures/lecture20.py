"""Draws operators as rows of dispatch keys, and who fills each key: lecture 20."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


KEYS = ("AutocastCPU", "AutocastCUDA", "Autograd", "Batched", "CPU", "CUDA", "Meta")
# What torchvision 0.28.0 registers: `torch._C._dispatch_dump("torchvision::nms")` and so on.
OPERATORS = {
    "nms": ("Python", "Python", "", "", "C++", "CUDA C++", "Python"),
    "roi_align": ("Python", "Python", "Python", "", "C++", "CUDA C++", "Python"),
    "deform_conv2d": ("", "Python", "Python", "", "C++", "CUDA C++", "Python"),
}
COLOURS = {"Python": "gold", "C++": "blue", "CUDA C++": "blue", "": ""}
# In pixels: a cell, the column of the names, and where the rows begin.
WIDE, HIGH, LEFT, TOP = 112, 44, EDGE + 130, 84


def cell(x: float, y: float, who: str) -> list[str]:
    """Draw a key of an operator, and who has filled it."""
    size = f'width="{WIDE - 6}" height="{HIGH - 6}"'
    shapes = [f'<rect x="{x:g}" y="{y:g}" {size} class="{COLOURS[who]}"/>']
    return [*shapes, text(x + WIDE / 2 - 3, y + 24, who or "nobody", "m" if who else "m c")]


def svg() -> str:
    """Draw a row for each operator, in the order in which the dispatcher asks the keys."""
    shapes = [text(EDGE, 36, "torchvision 0.28: who fills a dispatch key of an operator?", "b")]
    for column, key in enumerate(KEYS):
        shapes.append(text(LEFT + WIDE * (column + 0.5) - 3, TOP - 14, key, "m"))
    for row, (name, filled) in enumerate(OPERATORS.items()):
        y = TOP + HIGH * row
        shapes.append(text(EDGE, y + 24, name))
        for column, who in enumerate(filled):
            shapes += cell(LEFT + WIDE * column, y, who)
    below = TOP + HIGH * len(OPERATORS) + 24
    says = (
        "Nobody at Autograd: backward has no formula for the result.",
        "Nobody at Batched: torch.vmap calls it once for each sample, and warns.",
        "Nobody at Meta, and neither torch.export nor torch.compile would know the result's size.",
    )
    shapes += [text(EDGE, below + 24 * line, words, "c") for line, words in enumerate(says)]
    return document(
        LEFT + WIDE * len(KEYS) + EDGE,
        below + 24 * len(says),
        title="Three operators of torchvision, key by key",
        description=(
            "For nms, roi_align and deform_conv2d of torchvision 0.28, the dispatch keys"
            f" {', '.join(KEYS)}: CPU is C++ and CUDA is CUDA C++; Meta, Autograd and the autocast"
            " keys are Python where they are filled; nms has no Autograd, deform_conv2d no"
            " AutocastCPU, and none has Batched."
        ),
        shapes=shapes,
    )
