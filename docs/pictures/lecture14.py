"""Draws three of PyTorch's pipeline schedules, the picture of lecture 14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text
from katas.lecture14.conftest import idle
from katas.lecture14.conftest import played
from katas.lecture14.conftest import theirs


if TYPE_CHECKING:
    from collections.abc import Mapping


# What it is called in PyTorch, the stages on each rank, and the slots of each kind of action.
SCHEDULES: tuple[tuple[str, int, Mapping[str, int]], ...] = (
    ("1F1B", 1, {"F": 2, "B": 4}),
    ("Interleaved1F1B", 2, {"F": 1, "B": 2}),
    ("InterleavedZeroBubble", 1, {"F": 2, "I": 2, "W": 2}),
)
RANKS, COUNT = 4, 4
COLOURS = {"F": "blue", "B": "gold", "I": "gold", "W": ""}
# In pixels: the names of the ranks, a slot, a row, and from one schedule to the next.
LEFT, SLOT, ROW, TALL = 80, 16, 26, 160


def svg() -> str:
    """Draw a row for each rank, and in it its actions, each with its micro-batch."""
    shapes, told, last = [], [], 0
    for place, (name, chunks, times) in enumerate(SCHEDULES):
        top = 46 + TALL * place
        orders = theirs(name, RANKS, chunks, COUNT)
        wait = max(idle(orders, times))
        shapes.append(text(EDGE, top - 14, f"Schedule{name}", "b"))
        words = f"{wait} of {wait + COUNT * 6} slots idle"
        shapes.append(text(EDGE + 260, top - 14, words, "c"))
        told.append(f"Schedule{name}: {words} on each rank")
        for rank, actions in enumerate(played(orders, times)):
            y = top + ROW * rank
            shapes.append(text(EDGE, y + 16, f"rank {rank}", "c"))
            for start, end, (kind, stage, number) in actions:
                x, wide = EDGE + LEFT + SLOT * start, SLOT * (end - start)
                last = max(last, end)
                style = "b m" if stage >= RANKS else "m"
                size = f'width="{wide}" height="{ROW - 4}"'
                shapes += [
                    f'<rect x="{x}" y="{y}" {size} class="{COLOURS[kind]}"/>',
                    text(x + wide / 2, y + 16, str(number), style),
                ]
    low = 46 + TALL * len(SCHEDULES) - 14
    legend = (("blue", "forward", 0), ("gold", "backward, or of the input", 130))
    for colour, words, right in (*legend, ("", "of the weights", 400)):
        shapes += [
            f'<rect x="{EDGE + right}" y="{low}" width="{SLOT}" height="{SLOT}" class="{colour}"/>',
            text(EDGE + right + SLOT + 8, low + 13, words, "c"),
        ]
    shapes.append(text(EDGE, low + 42, "numbers are micro-batches; bold, in a second stage", "c"))
    width, height = 2 * EDGE + LEFT + SLOT * last, low + 62
    return document(
        width,
        height,
        title="Three schedules of a pipeline of four ranks",
        description="; ".join(told),
        shapes=shapes,
    )
