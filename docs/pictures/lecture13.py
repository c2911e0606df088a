"""Plays a ring all-reduce of three ranks step by step, the picture of lecture 13."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


RANKS = 3
# In pixels: the names of the steps, a chunk, a row, and from one rank to the next.
LEFT, CHUNK, ROW, WIDE = 130, 56, 34, 200

Chunks = list[list[set[int]]]


def played(ranks: int) -> list[tuple[str, Chunks, list[int | None]]]:
    """Return for each step its name, whose numbers each chunk of each rank holds, and what is sent.

    Chunk r starts at rank r + 1, and is complete when it has been everywhere.
    """
    chunks = [[{rank} for _ in range(ranks)] for rank in range(ranks)]
    found: list[tuple[str, Chunks, list[int | None]]] = []

    def note(name: str, sent: list[int | None]) -> None:
        found.append((name, [[set(held) for held in row] for row in chunks], sent))

    note("at first", [None] * ranks)
    for number in range(2 * (ranks - 1)):
        adds = number < ranks - 1
        sent = [(rank - 1 - number) % ranks for rank in range(ranks)]
        before = [[set(held) for held in row] for row in chunks]
        for rank, chunk in enumerate(sent):
            there = chunks[(rank + 1) % ranks]
            there[chunk] = before[rank][chunk] | (there[chunk] if adds else set())
        note(f"{'add' if adds else 'copy'}, step {number % (ranks - 1)}", [*sent])
    return found


def svg() -> str:
    """Draw a row for each step, and in it the chunks of each rank."""
    shapes = [
        text(EDGE + LEFT + WIDE * rank, EDGE + 12, f"rank {rank}", "b") for rank in range(RANKS)
    ]
    told = []
    for place, (name, ranks, sent) in enumerate(played(RANKS)):
        y = EDGE + 26 + ROW * place
        shapes.append(text(EDGE, y + 18, name, "c"))
        told.append(name)
        for rank, row in enumerate(ranks):
            for chunk, held in enumerate(row):
                x = EDGE + LEFT + WIDE * rank + CHUNK * chunk
                complete = len(held) == RANKS
                colour = "gold" if complete else "blue" if sent[(rank - 1) % RANKS] == chunk else ""
                size = f'width="{CHUNK}" height="{ROW - 6}"'
                shapes += [
                    f'<rect x="{x}" y="{y}" {size} class="{colour}"/>',
                    text(x + CHUNK / 2, y + 19, "+".join(map(str, sorted(held))), "m"),
                ]
    low = EDGE + 26 + ROW * len(told) + 18
    shapes.append(text(EDGE, low, "numbers: whose values a chunk holds; blue: just arrived", "c"))
    width, height = 2 * EDGE + LEFT + WIDE * RANKS - (WIDE - CHUNK * RANKS), low + 18
    return document(
        width,
        height,
        title="A ring all-reduce of three ranks, chunk by chunk",
        description="; ".join(told) + ": after four steps every chunk of each rank is complete",
        shapes=shapes,
    )
