"""``python -m tests.pictures [FOLDER]`` draws the pictures of the lectures, as SVG, into docs.

Each is computed from what it shows, needs no other file, and has the colours of the reader's page,
light or dark.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-labelledby="t d">
<title id="t">{title}</title>
<desc id="d">{description}</desc>
<style>
svg {{ --paper: #fbfaf7; --ink: #22262b; --pale: #6a6f76; --blue: #bfdcf7; --gold: #f6dc9c; }}
@media (prefers-color-scheme: dark) {{
  svg {{ --paper: #16191d; --ink: #e4e6e8; --pale: #9aa0a8; --blue: #1d4f80; --gold: #6b5310; }}
}}
rect {{ fill: var(--paper); stroke: var(--pale); }}
path {{ fill: none; stroke: var(--pale); stroke-dasharray: 3 3; }}
text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); }}
text {{ white-space: pre; }}
.b {{ font-weight: bold; }} .c {{ fill: var(--pale); }} .m {{ text-anchor: middle; }}
.blue {{ fill: var(--blue); }} .gold {{ fill: var(--gold); }}
</style>
<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="8"/>
{shapes}
</svg>
"""
# In pixels.
CELL, EDGE = 30, 20


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


def document(
    width: float, height: float, *, title: str, description: str, shapes: Sequence[str]
) -> str:
    """Return a picture in its frame, so many pixels wide and high."""
    return DOCUMENT.format(
        width=width,
        height=height,
        right=width - 1,
        bottom=height - 1,
        title=title,
        description=escape(description),
        shapes="\n".join(shapes),
    )


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>'


def box(x: float, y: float, number: int, colour: str = "") -> str:
    """Return an element with its place in it."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" class="{colour}"/>'
        f"{text(x + CELL / 2, y + 20, str(number), 'm')}"
    )


def tensors() -> str:
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


def nodes() -> str:
    """Draw the graph of three lines, which PyTorch makes and runs."""
    from tests import graph  # noqa: PLC0415 - imports torch

    return graph.svg_of(graph.read_nodes())


def road() -> str:
    """Draw the way of a call through PyTorch's table of an operator."""
    from tests import road as lecture04  # noqa: PLC0415 - imports torch

    return lecture04.svg_of(lecture04.read_rows())


def layers() -> str:
    """Draw the layers that a call goes through."""
    from tests import layers as lecture01  # noqa: PLC0415 - imports this module

    return lecture01.svg()


def pipeline() -> str:
    """Draw one worker and three, which feed a trainer."""
    from tests import pipeline as lecture06  # noqa: PLC0415 - imports this module

    return lecture06.svg()


def drawers() -> str:
    """Draw where a Module keeps what is assigned to it, and who sees it."""
    from tests import drawers as lecture05  # noqa: PLC0415 - imports torch

    return lecture05.svg_of(lecture05.read_lines())


def streams() -> str:
    """Draw the rows of a GPU's trace, and when it was busy."""
    from tests import gputrace  # noqa: PLC0415 - imports torch

    return gputrace.svg()


def artefact() -> str:
    """Draw an exported program: whose tensors go in, and which operators use them."""
    from tests import artefact as lecture08  # noqa: PLC0415 - imports torch

    return lecture08.svg_of(*lecture08.read_program())


def columns() -> str:
    """Draw how many vectors a Jacobian carries, by columns and by rows."""
    from tests import columns as lecture11  # noqa: PLC0415 - imports torch

    return lecture11.svg_of(lecture11.measure())


def rates() -> str:
    """Draw the lr of a run: a warmup, an edit by hand, a milestone, a cosine and what follows."""
    import torch  # noqa: PLC0415 - takes a second
    from torch.optim import lr_scheduler  # noqa: PLC0415 - takes a second

    milestone, end, steps, edit = 6, 10, 24, 3
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    group = optimizer.param_groups[0]
    warmup = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=milestone)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, end)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [milestone])
    lrs = []
    for step in range(steps):
        if step == edit:
            group["lr"] /= 5
        lrs.append(float(group["lr"]))
        optimizer.step()
        with warnings.catch_warnings():
            # Earlier versions warn of a call of their own, at the milestone.
            warnings.simplefilter("ignore")
            scheduler.step()
    top, tall, wide = 50, 144, 28
    parts = (
        (0, edit, "warmup", "blue"),
        (edit, milestone, "by hand", "gold"),
        (milestone, milestone + end, "milestone, then a cosine", "blue"),
        (milestone + end, steps, "after T_max", "gold"),
    )
    shapes = []
    for start, stop, title, colour in parts:
        shapes.append(text(EDGE + wide * start, 32, title, "b"))
        for step in range(start, stop):
            high = round(tall * lrs[step])
            shapes.append(
                f'<rect x="{EDGE + wide * step}" y="{top + tall - high}" width="{wide - 6}"'
                f' height="{high}" class="{colour}"/>'
                f"{text(EDGE + wide * step + wide / 2 - 3, top + tall + 20, str(step), 'c m')}"
            )
    words = "lr over the steps; gold is what is not in the plan"
    shapes.append(text(EDGE, top + tall + 48, words, "c"))
    width, height = 2 * EDGE + wide * steps, top + tall + 68
    return document(
        width,
        height,
        title="The lr of a run, and two surprises",
        description="The lr by step: " + ", ".join(f"{lr:.2f}" for lr in lrs),
        shapes=shapes,
    )


def schedules() -> str:
    """Draw three of PyTorch's schedules, played slot by slot."""
    from tests import slots  # noqa: PLC0415 - imports torch

    return slots.svg()


def first_nan() -> str:
    """Draw the operators of a forward and a backward, and the one that makes a NaN."""
    from tests import firstnan  # noqa: PLC0415 - imports torch

    return firstnan.svg_of(firstnan.read_rows())


def refs() -> str:
    """Draw which refs the commands of a pull request move."""
    from tests import refs as lecture28  # noqa: PLC0415 - imports this module

    return lecture28.svg_of(lecture28.read_rows())


PICTURES: dict[str, Callable[[], str]] = {
    "lecture01.svg": layers,
    "lecture02.svg": tensors,
    "lecture06.svg": pipeline,
    "lecture28.svg": refs,
}
# These need torch.
MEASURED: dict[str, Callable[[], str]] = {
    "lecture03.svg": nodes,
    "lecture04.svg": road,
    "lecture05.svg": drawers,
    "lecture07.svg": streams,
    "lecture08.svg": artefact,
    "lecture11.svg": columns,
    "lecture12.svg": rates,
    "lecture14.svg": schedules,
    "lecture27.svg": first_nan,
}


def main() -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    folder = parser.parse_args().folder
    for name, draw in (PICTURES | MEASURED).items():
        (folder / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
