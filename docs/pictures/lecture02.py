"""Draws four tensors and the one storage that they look at, the picture of lecture 02."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from docs.pictures.drawing import CELL
from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


@dataclass(frozen=True)
class Panel:
    """A tensor that looks at the storage of ``torch.arange(6)``, and an index to follow."""

    code: str
    sizes: tuple[int, int]
    strides: tuple[int, int]
    offset: int
    index: tuple[int, int]
    colour: str

    def place(self, index: tuple[int, int]) -> int:
        """Return where the element lies in the storage."""
        return self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def sum(self) -> str:
        """Return how the place of the element to follow comes about."""
        steps = [f"{i}·{stride}" for i, stride in zip(self.index, self.strides, strict=True)]
        return f"{self.offset} + {' + '.join(steps)} = {self.place(self.index)}"


PANELS = (
    Panel("x", (2, 3), (3, 1), 0, (1, 2), "blue"),
    Panel("x.t()", (3, 2), (1, 3), 0, (2, 1), "blue"),
    Panel("x[:, 1:]", (2, 2), (3, 1), 1, (1, 1), "blue"),
    Panel("x[0].expand(3, 3)", (3, 3), (0, 1), 0, (2, 2), "gold"),
)
STORAGE = 6


def box(x: float, y: float, number: int, colour: str = "") -> str:
    """Return an element with its place in it."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" class="{colour}"/>'
        f"{text(x + CELL / 2, y + 20, str(number), 'm')}"
    )


def svg() -> str:
    """Draw four tensors and the one storage that they look at."""
    wide, top, bottom = 195, 120, 290
    start = EDGE + (wide * len(PANELS) - STORAGE * CELL) / 2
    colours = {panel.place(panel.index): panel.colour for panel in PANELS}
    paths, shapes = [], []
    for number, panel in enumerate(PANELS):
        left = EDGE + wide * number
        lines = (f"strides {panel.strides}", f"offset  {panel.offset}")
        shapes += [text(left, 32, panel.code, "b")]
        shapes += [text(left, 58 + 22 * row, line, "c") for row, line in enumerate(lines)]
        for i, j in product(*map(range, panel.sizes)):
            place = panel.place((i, j))
            seen = panel.colour if place == panel.place(panel.index) else ""
            shapes.append(box(left + CELL * j, top + CELL * i, place, seen))
        under = top + CELL * panel.sizes[0]
        shapes.append(text(left, 106, panel.sum()))
        # From the element down, below the highest grid, to its box in the storage.
        x = left + CELL * (panel.index[1] + 0.5)
        end = start + CELL * (panel.place(panel.index) + 0.5)
        low = top + CELL * 3 + 10
        paths.append(
            f'<path d="M{x:g} {under} V{low} C{x:g} {bottom} {end:g} {low} {end:g} {bottom}"/>'
        )
    for place in range(STORAGE):
        shapes.append(box(start + CELL * place, bottom, place, colours.get(place, "")))
    shapes += [
        text(start + CELL * STORAGE + 12, bottom + 20, "the storage of all four", "c"),
        text(EDGE, bottom + 62, "place = offset + i · strides[0] + j · strides[1]", "b"),
    ]
    width, height = 2 * EDGE + wide * len(PANELS), bottom + 84
    description = (
        "x = torch.arange(6).view(2, 3) and three views of it are grids over one row of six "
        "boxes; each cell holds the place of its element in that row. "
        + "; ".join(
            f"{panel.code} has strides {panel.strides} and offset {panel.offset}, and its element "
            f"{list(panel.index)} lies at {panel.sum()}"
            for panel in PANELS
        )
    )
    return document(
        width,
        height,
        title="Four tensors, one storage",
        description=description,
        shapes=paths + shapes,
    )
