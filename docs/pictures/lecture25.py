"""Draws a lookup in a table whose rows lie on two ranks, there and back: lecture 25."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


# A table of eight rows, four on each rank, and the ids of each rank's batch.
ROWS = 8
RANKS = ((5, 1, 6, 1), (0, 7, 2, 4))
# In pixels: a cell, from one rank to the other, and where the steps stand.
WIDE, HIGH, APART = 62, 34, 400
STEPS = (88, 188, 278, 378)


def row(x: float, y: float, names: list[str], colours: list[str]) -> list[str]:
    """Draw cells beside one another."""
    shapes = []
    for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
        size = f'width="{WIDE - 4}" height="{HIGH}"'
        shapes.append(f'<rect x="{x + WIDE * place:g}" y="{y:g}" {size} class="{colour}"/>')
        shapes.append(text(x + WIDE * (place + 0.5) - 2, y + 22, name, "m"))
    return shapes


def arrow(x: float, y: float, to: float, below: float) -> str:
    """Draw a line from the bottom of one cell to the top of another."""
    begin, end = x + WIDE / 2 - 2, to + WIDE / 2 - 2
    return f'<path d="M{begin:g} {y + HIGH:g}L{end:g} {below:g}"/>'


def owner(number: int) -> int:
    """Return the rank that holds a row of the table."""
    return number * len(RANKS) // ROWS


def svg() -> str:
    """Draw the ids as they come, at their owners, the rows there, and the rows in order again."""
    shapes: list[str] = []
    colours = ("blue", "gold")
    lefts = [EDGE + APART * rank for rank in range(len(RANKS))]
    arrived = [
        [
            (number, source)
            for source, ids in enumerate(RANKS)
            for number in ids
            if owner(number) == me
        ]
        for me in range(len(RANKS))
    ]
    for rank, left in enumerate(lefts):
        kept = ROWS // len(RANKS)
        rows = f"rows {kept * rank} to {kept * rank + kept - 1}"
        shapes.append(text(left, 36, f"rank {rank}, which holds {rows}", "b"))
        ids = RANKS[rank]
        shapes += row(left, STEPS[0], [str(n) for n in ids], [colours[owner(n)] for n in ids])
        names = [str(number) for number, _ in arrived[rank]]
        shapes += row(left, STEPS[1], names, [colours[rank]] * len(names))
        shapes += row(
            left, STEPS[2], [f"w[{name}]" for name in names], [colours[rank]] * len(names)
        )
        shapes += row(left, STEPS[3], [f"w[{n}]" for n in ids], [colours[owner(n)] for n in ids])
    for rank, ids in enumerate(RANKS):
        taken = dict.fromkeys(range(len(RANKS)), 0)
        for place, number in enumerate(ids):
            to = owner(number)
            slots = [slot for slot, (_, source) in enumerate(arrived[to]) if source == rank]
            slot = slots[taken[to]]
            taken[to] += 1
            here, there = lefts[rank] + WIDE * place, lefts[to] + WIDE * slot
            shapes.append(arrow(here, STEPS[0], there, STEPS[1]))
            shapes.append(arrow(there, STEPS[2], here, STEPS[3]))
    says = (
        "the ids of a batch; an all-to-all takes each to the rank that holds its row",
        "each looks up its rows; an all-to-all takes them back, in the order of the ids",
    )
    for top, words in zip(STEPS[::2], says, strict=True):
        shapes.append(text(EDGE, top - 14, words, "c"))
    return document(
        lefts[-1] + WIDE * max(map(len, arrived)) + EDGE,
        STEPS[-1] + HIGH + EDGE,
        title="A lookup in a table that two ranks share",
        description=(
            f"Rank 0 asks for the rows {RANKS[0]} and rank 1 for {RANKS[1]} of a table of {ROWS}"
            " rows, half of which each rank holds. The ids cross to the rank that holds the row;"
            " the rows cross back, and are put into the order in which they were asked for."
        ),
        shapes=shapes,
    )
