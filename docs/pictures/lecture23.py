"""Draws a key/value cache as strips with room, and as pages with a block table: lecture 23."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


# The tokens of each sequence, and the room that a strip has for the longest.
TOKENS = {"a": 5, "b": 3}
ROOM = 12
# How many tokens a page has, and the pages of each sequence in order, out of so many.
PAGE, PAGES = 2, 6
TABLE = {"a": (0, 2, 4), "b": (1, 3)}
COLOURS = {"a": "blue", "b": "gold"}
# In pixels: a slot, from one page to the next, the tops of strips, pages and tables.
SLOT, HIGH, APART = 40, 30, 100
STRIPS, MEMORY, TABLES = 62, 246, 356
LEFT = EDGE + 40


def slot(x: float, y: float, words: str, colour: str) -> list[str]:
    """Draw a place for a token, and the token if there is one."""
    drawn = [f'<rect x="{x:g}" y="{y:g}" width="{SLOT}" height="{HIGH}" class="{colour}"/>']
    return [*drawn, text(x + SLOT / 2, y + 20, words, "m")] if words else drawn


def strips() -> list[str]:
    """Draw a strip for each sequence, with a mark where its next token goes."""
    shapes: list[str] = []
    for row, (name, count) in enumerate(TOKENS.items()):
        y = STRIPS + row * (HIGH + 28)
        shapes.append(text(EDGE, y + 20, name, "b"))
        for place in range(ROOM):
            word = f"{name}{place}" if place < count else ""
            shapes += slot(LEFT + SLOT * place, y, word, COLOURS[name] if word else "")
        mark = LEFT + SLOT * (count + 0.5)
        style = 'style="stroke-dasharray: none; stroke: var(--ink)"'
        shapes.append(f'<path d="M{mark:g} {y + HIGH + 14:g} v-10 m-4 4 l4 -4 l4 4" {style}/>')
        shapes.append(text(mark + 10, y + HIGH + 16, f"position = {count}", "c"))
    return shapes


def pages() -> list[str]:
    """Draw the memory, and below it a table for each sequence, with lines to its pages."""
    shapes = []
    held = {
        (page, place): f"{name}{number * PAGE + place}"
        for name, numbers in TABLE.items()
        for number, page in enumerate(numbers)
        for place in range(PAGE)
        if number * PAGE + place < TOKENS[name]
    }
    owners = {page: name for name, numbers in TABLE.items() for page in numbers}
    for page in range(PAGES):
        x = LEFT + APART * page
        shapes.append(text(x + SLOT * PAGE / 2, MEMORY - 8, f"page {page}", "c m"))
        for place in range(PAGE):
            word = held.get((page, place), "")
            colour = COLOURS[owners[page]] if word else ""
            shapes += slot(x + SLOT * place, MEMORY, word, colour)
    x = LEFT
    for name, numbers in TABLE.items():
        shapes.append(text(x - 24, TABLES + 20, name, "b"))
        for page in numbers:
            to = LEFT + APART * page + SLOT * PAGE / 2
            line = f"M{x + SLOT / 2:g} {TABLES:g} L{to:g} {MEMORY + HIGH + 3:g}"
            shapes.append(f'<path d="{line}" style="stroke-dasharray: none"/>')
            shapes += slot(x, TABLES, str(page), COLOURS[name])
            x += SLOT
        x += 3 * SLOT
    return shapes


def svg() -> str:
    """Draw strips, pages and tables, and say how many slots each leaves empty."""
    used = sum(TOKENS.values())
    strip = ROOM * len(TOKENS) - used
    page = PAGE * sum(map(len, TABLE.values())) - used
    words = f"A strip for each sequence, with room for {ROOM}: {strip} slots are empty."
    shapes = [text(EDGE, 36, words, "b"), *strips()]
    words = f"Pages of {PAGE} tokens: {page} slots are empty, and page {PAGES - 1} is free."
    shapes += [text(EDGE, MEMORY - 40, words, "b"), *pages()]
    shapes.append(text(EDGE, TABLES + HIGH + 24, "the block table: which pages, in order", "c"))
    return document(
        LEFT + APART * (PAGES - 1) + SLOT * PAGE + EDGE,
        TABLES + HIGH + 44,
        title="A key/value cache in strips, and in pages",
        description=(
            f"Two sequences of {' and '.join(map(str, TOKENS.values()))} tokens. In strips with"
            f" room for {ROOM} tokens {strip} slots are empty; in pages of {PAGE} tokens, found by"
            f" a block table, {page} are."
        ),
        shapes=shapes,
    )
