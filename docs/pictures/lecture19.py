"""Draws who reads whom: one row of three modalities, and a text with a memory at its side.

The picture of lecture 19. A cell is drawn where a token (its row) reads another one (its column),
in the colour of what is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.pictures.drawing import CELL
from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# Text, the rows of an image, text, those of a sound, text.
SENTENCE = ("t0", "i0", "i1", "i2", "i3", "t1", "t2", "s0", "s1", "t3")
COLOURS = {"t": "", "i": "blue", "s": "gold"}
NAMES = {"t": "text", "i": "image", "s": "sound"}
# In pixels: between a matrix and the tokens at its sides, between blocks, and between matrices.
NEAR, GAP, APART = 10, 12, 70
TOP = 122


def reads(row: int, column: int) -> bool:
    """Whether a token reads another of the sentence: it is no later, or of the same image."""
    kinds = SENTENCE[row][0], SENTENCE[column][0]
    return column <= row or kinds == ("i", "i")


def token(x: float, y: float, name: str) -> list[str]:
    """Return a token in the colour of its modality."""
    return [cell(x, y, name), text(x + CELL / 2, y + CELL / 2 + 5, name, "m")]


def cell(x: float, y: float, name: str) -> str:
    """Return a square in the colour of a token's modality."""
    place = f'x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}"'
    return f'<rect {place} class="{COLOURS[name[0]]}"/>'


def matrix(
    left: float,
    rows: Sequence[str],
    columns: Sequence[str],
    allowed: Callable[[int, int], bool],
    places: Sequence[float],
) -> list[str]:
    """Return the tokens that read, those that are read, and a cell for each pair that meets."""
    shapes = []
    for j, name in enumerate(columns):
        shapes += token(left + places[j], TOP - NEAR - CELL, name)
    for i, name in enumerate(rows):
        shapes += token(left - NEAR - CELL, TOP + CELL * i, name)
        for j, other in enumerate(columns):
            if allowed(i, j):
                shapes.append(cell(left + places[j], TOP + CELL * i, other))
    return shapes


def borders(names: Sequence[str]) -> list[int]:
    """Return where one modality ends and another begins."""
    return [n for n in range(1, len(names)) if names[n][0] != names[n - 1][0]]


def svg() -> str:
    """Draw both, with a line at each border of a block, and count the pairs."""
    size, left = CELL * len(SENTENCE), EDGE + CELL + NEAR
    shapes = [text(EDGE, 34, "one row of tokens", "b")]
    shapes.append(text(EDGE, 58, "a row reads, a column is read"))
    everything = range(len(SENTENCE))
    shapes += matrix(left, SENTENCE, SENTENCE, reads, [CELL * n for n in everything])
    for n in borders(SENTENCE):
        x, y = left + CELL * n, TOP + CELL * n
        shapes.append(f'<path d="M{x} {TOP} V{TOP + size} M{left} {y} H{left + size}"/>')
    pairs = sum(reads(i, j) for i in everything for j in everything)
    below = TOP + size + 26
    shapes.append(text(left, below, f"{pairs} pairs in a layer"))

    words = [name for name in SENTENCE if name[0] == "t"]
    memory = [name for name in SENTENCE if name[0] != "t"]
    far = left + size + APART + CELL + NEAR
    places = [CELL * n + GAP * (n >= len(words)) for n in everything]
    shapes.append(text(far - CELL - NEAR, 34, "a text, and a memory beside it", "b"))
    shapes.append(text(far, 58, "self"))
    shapes.append(text(far + places[len(words)], 58, "cross-attention"))
    shapes += matrix(far, words, [*words, *memory], lambda i, j: j <= i or j >= len(words), places)
    own, other = len(words) * (len(words) + 1) // 2, len(words) * len(memory)
    under = TOP + CELL * len(words) + 26
    shapes.append(text(far, under, f"{own} pairs"))
    shapes.append(text(far + places[len(words)], under, f"{other} pairs"))
    for n, (kind, name) in enumerate(NAMES.items()):
        y = under + 54 + (CELL + NEAR) * n
        shapes += [cell(far, y, kind), text(far + CELL + NEAR, y + CELL / 2 + 5, name)]
    return document(
        far + size + GAP + EDGE,
        below + 20,
        title="Which tokens read which: text, an image and a sound in one row, or in a memory",
        description=(
            f"Left, a matrix of {len(SENTENCE)} tokens in one row: each reads those up to itself, "
            f"and the rows of the image read each other, {pairs} pairs. Right, {len(words)} tokens "
            f"of text read each other in {own} pairs, and all of a memory in {other} pairs."
        ),
        shapes=shapes,
    )
