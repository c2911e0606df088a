"""Draws one network three times, the picture of lecture 16: layers, nodes of a file, what is run.

What became of what is written down here, since ONNX need not be installed; a test of the pictures
exports the network and compares, where it is.
"""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


LAYERS = ("Conv2d", "BatchNorm2d", "ReLU", "Dropout", "Flatten", "Linear", "GELU", "SiLU")
# The nodes of the file, each with the rows of the layers that it was made from.
FILE = (
    ("Conv", (0, 1)),
    ("Relu", (2,)),
    ("Reshape", (4,)),
    ("Gemm", (5,)),
    ("Gelu", (6,)),
    ("Sigmoid", (7,)),
    ("Mul", (7,)),
)
# Those that ONNX Runtime runs (ORT_ENABLE_EXTENDED), each with the rows of the nodes of the file.
RUNTIME = (
    ("FusedConv", (0, 1)),
    ("Reshape", (2,)),
    ("Gemm", (3,)),
    ("Gelu", (4,)),
    ("QuickGelu", (5, 6)),
)
# In pixels: where the columns begin, how wide their boxes are, how far the rows lie apart.
LEFTS, WIDE, HIGH, STEP, TOP = (EDGE, 260, 500), 150, 30, 44, 58
HEADS = ("PyTorch, eval mode", "model.onnx", "ONNX Runtime")


def height_of(column: int, row: int) -> float:
    """Return where a box begins: shorter columns stand in the middle of the height."""
    count = len((LAYERS, FILE, RUNTIME)[column])
    return TOP + STEP * (len(LAYERS) - count) / 2 + STEP * row


def box(column: int, row: int, words: str, colour: str) -> str:
    """Return a box with a name in it."""
    x, y = LEFTS[column], height_of(column, row)
    return (
        f'<rect x="{x}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="4" class="{colour}"/>'
        f"{text(x + WIDE / 2, y + 20, words, 'm')}"
    )


def line(column: int, row: int, other: int) -> str:
    """Return a curve from a box to one in the next column."""
    x, end = LEFTS[column] + WIDE, LEFTS[column + 1]
    y, low = (
        height_of(place, number) + HIGH / 2
        for place, number in ((column, row), (column + 1, other))
    )
    middle = (x + end) / 2
    return f'<path d="M{x} {y:g}C{middle:g} {y:g} {middle:g} {low:g} {end} {low:g}"/>'


def svg() -> str:
    """Draw three columns, and lines from what was to what it became."""
    kept = {row for _, rows in FILE for row in rows}
    paths, told = [], []
    shapes = [text(x, 36, words, "b") for x, words in zip(LEFTS, HEADS, strict=True)]
    for row, name in enumerate(LAYERS):
        shapes.append(box(0, row, name, "blue" if row in kept else ""))
        if row not in kept:
            x, y = LEFTS[0] + WIDE + 14, height_of(0, row) + 20
            shapes.append(text(x, y, "gone", "c"))
            told.append(f"of {name} nothing is left")
    for column, nodes, before in ((1, FILE, LAYERS), (2, RUNTIME, tuple(n for n, _ in FILE))):
        for row, (name, sources) in enumerate(nodes):
            merged = len(sources) > 1
            shapes.append(box(column, row, name, "gold" if merged else "blue"))
            paths += [line(column - 1, source, row) for source in sources]
            told.append(f"{' and '.join(before[each] for each in sources)} became {name}")
    width, height = LEFTS[-1] + WIDE + EDGE, TOP + STEP * len(LAYERS) + 12
    return document(
        width,
        height,
        title="One network three times: as layers, as the nodes of a file, as what is run",
        description="; ".join(told),
        shapes=paths + shapes,
    )
