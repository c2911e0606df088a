"""The picture of lecture 09: a launch as a grid, and the rounds of a grid-stride loop."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


BLOCKS, THREADS, ELEMENTS = 3, 4, 31
COLOURS = ("blue", "gold", "")
# In pixels: the names of the rows, a cell, a row, and a gap between blocks.
LEFT, CELL, ROW, GAP = 120, 40, 34, 14


def svg() -> str:
    """Draw a row for each round, and in it the element of each thread."""
    step = BLOCKS * THREADS
    rounds = -(-ELEMENTS // step)
    shapes = [text(EDGE, 34, "blockIdx.x", "c"), text(EDGE, 58, "threadIdx.x", "c")]
    told = []
    for block in range(BLOCKS):
        left = EDGE + LEFT + block * (THREADS * CELL + GAP)
        shapes.append(text(left + THREADS * CELL / 2, 34, str(block), "b m"))
        for thread in range(THREADS):
            x = left + thread * CELL
            shapes.append(text(x + CELL / 2, 58, str(thread), "c m"))
            for number in range(rounds):
                element = number * step + block * THREADS + thread
                inside = element < ELEMENTS
                y = 72 + number * ROW
                size = f'width="{CELL - 4}" height="{ROW - 6}"'
                colour = COLOURS[block] if inside else ""
                shapes += [
                    f'<rect x="{x}" y="{y}" {size} class="{colour}"/>',
                    text(x + CELL / 2 - 2, y + 19, str(element) if inside else "-", "m"),
                ]
    for number in range(rounds):
        first = number * step
        last = min(first + step, ELEMENTS) - 1
        shapes.append(text(EDGE, 72 + number * ROW + 19, f"round {number + 1}", "c"))
        told.append(f"round {number + 1}: elements {first} to {last}")
    low = 72 + rounds * ROW + 20
    words = f"kernel<<<{BLOCKS}, {THREADS}>>> on {ELEMENTS} elements: a step is all {step} threads"
    shapes.append(text(EDGE, low, words, "c"))
    width = 2 * EDGE + LEFT + BLOCKS * THREADS * CELL + (BLOCKS - 1) * GAP
    return document(
        width,
        low + 20,
        title="A launch as a grid, and a grid-stride loop",
        description=f"{BLOCKS} blocks of {THREADS} threads; " + ", ".join(told),
        shapes=shapes,
    )
