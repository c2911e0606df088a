"""Draws which old pixels a new one is made of, half a pixel included: lecture 21."""

from __future__ import annotations

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


# In pixels: the row of pixels, a row of the drawing, from one panel to the next.
WIDE, HIGH, GAP, PANEL = 720, 34, 74, 214


def shares(old: int, new: int, *, antialias: bool) -> list[list[float]]:
    """Return for each new pixel its share of each old one: a triangle around its centre."""
    scale = old / new
    reach = max(scale, 1.0) if antialias else 1.0
    rows = []
    for place in range(new):
        centre = min(max((place + 0.5) * scale - 0.5, 0), old - 1)
        row = [max(0.0, 1 - abs(other - centre) / reach) for other in range(old)]
        rows.append([share / sum(row) for share in row])
    return rows


def pixels(top: float, values: list[str], colours: list[str]) -> list[str]:
    """Draw a row of pixels as wide as the image."""
    wide = WIDE / len(values)
    shapes = []
    for place, (value, colour) in enumerate(zip(values, colours, strict=True)):
        x = EDGE + wide * place
        size = f'width="{wide:g}" height="{HIGH}"'
        shapes.append(f'<rect x="{x:g}" y="{top:g}" {size} class="{colour}"/>')
        shapes.append(text(x + wide / 2, top + 22, value, "m"))
    return shapes


def panel(top: float, words: str, old: int, new: int, *, antialias: bool) -> list[str]:
    """Draw an image's old pixels, its new ones, and a line for each share."""
    rows = shares(old, new, antialias=antialias)
    used = [any(row[place] > 0 for row in rows) for place in range(old)]
    shapes = [text(EDGE, top, words, "b")]
    low, high = top + 16, top + 16 + HIGH + GAP
    for place, row in enumerate(rows):
        for other, share in enumerate(row):
            if share > 0:
                begin = EDGE + WIDE / old * (other + 0.5)
                end = EDGE + WIDE / new * (place + 0.5)
                shapes.append(f'<path d="M{begin:g} {low + HIGH:g}L{end:g} {high:g}"/>')
    names = [str(place) for place in range(old)]
    shapes += pixels(low, names, ["blue" if here else "" for here in used])
    values = [f"{sum(place * s for place, s in enumerate(row)):.2f}" for row in rows]
    return [*shapes, *pixels(high, values, ["gold"] * new)]


def svg() -> str:
    """Draw four pixels resized to eight, then eight to three without and with antialias."""
    shapes = panel(
        40, "4 to 8: each new centre lies a quarter of an old pixel aside", 4, 8, antialias=False
    )
    shapes += panel(
        40 + PANEL, "8 to 3: two old pixels each, the others are not read", 8, 3, antialias=False
    )
    shapes += panel(
        40 + 2 * PANEL, "8 to 3, antialias=True: the triangle grows by 8/3", 8, 3, antialias=True
    )
    return document(
        WIDE + 2 * EDGE,
        40 + 3 * PANEL - 40,
        title="Which old pixels make a new one",
        description=(
            "The pixels 0, 1, 2, 3 become 0, 0.25, 0.75 and so on up to 3 when resized to eight:"
            " each new centre lies a quarter of an old pixel beside an old one. Eight pixels"
            " resized to three read two old pixels each and leave out others; with antialias all"
            " eight are read."
        ),
        shapes=shapes,
    )
