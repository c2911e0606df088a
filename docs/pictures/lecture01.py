"""Draws the layers that lecture 01 opens with."""

from __future__ import annotations

from dataclasses import dataclass

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


@dataclass(frozen=True)
class Layer:
    """A layer: its name, where its code is, what x + 1 is there, and the katas that look at it."""

    name: str
    place: str
    sees: str
    katas: str


LAYERS = (
    Layer("Python", "torch/*.py", "x + 1", "k02 to k10"),
    Layer("bindings", "libtorch_python", "Tensor.__add__(x, 1)", "k04, k12"),
    Layer("dispatcher", "libtorch_cpu", "aten::add.Tensor, by keys", "k01, k02, k13"),
    Layer("kernels", "libtorch_cpu", "a loop over two floats", "k10, k11"),
    Layer("memory", "libc10", "8 bytes, sizes, strides", "k12, lecture 02"),
)
# In pixels.
HIGH, GAP, WIDE, TOP = 44, 14, 760, 50
COLUMNS = (16, 150, 320, 580)


def svg() -> str:
    """Return the picture."""
    shapes = [
        text(EDGE + column, 32, words, "c")
        for column, words in zip(
            COLUMNS, ("layer", "its code", "what x + 1 is there", "katas"), strict=True
        )
    ]
    paths = []
    for row, layer in enumerate(LAYERS):
        y = TOP + row * (HIGH + GAP)
        colour = "gold" if layer.name == "dispatcher" else ""
        shapes.append(
            f'<rect class="{colour}" x="{EDGE}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        )
        words = (layer.name, layer.place, layer.sees, layer.katas)
        shapes += [
            text(EDGE + column, y + 27, each, "b" if column == COLUMNS[0] else "")
            for column, each in zip(COLUMNS, words, strict=True)
        ]
        if row:
            paths.append(f'<path d="M{EDGE + 60} {y - GAP}V{y}"/>')
    width, height = WIDE + 2 * EDGE, TOP + len(LAYERS) * (HIGH + GAP) + 6
    description = "; ".join(
        f"{layer.name}, in {layer.place}: {layer.sees} ({layer.katas})" for layer in LAYERS
    )
    return document(
        width,
        height,
        title="The layers below x + 1, from Python to memory",
        description=description,
        shapes=paths + shapes,
    )
