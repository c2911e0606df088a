"""Draws the road that lecture 04 is about.

The keys are those of a tensor, and the rows those of PyTorch's table of ``aten::add.Tensor``. Only
the places on the paper are chosen here, and which rows of the table are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


OPERATOR = "aten::add.Tensor"
SHOWN = ("AutocastCPU", "AutogradCPU", "ADInplaceOrView", "Meta", "CUDA", "CPU")
ROW = re.compile(
    r"(?P<key>\w+): (?P<fallthrough>fallthrough )?registered at \S*/(?P<file>[^/]+?)(?:_\d+)?"
    r"\.\w+:\d+ "
)
# What a kernel in these files does, for a reader who has not met it.
DOES = {
    "VariableType": "records a node, then calls again",
    "RegisterCPU": "adds the numbers",
}
# In pixels: the columns of the keys of x, of the table and of its kernels; the rows.
TENSOR, TABLE, KERNEL, TOP, HIGH = 104, 310, 455, 96, 40
WIDE, DEEP = 840, 388
DOCUMENT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-labelledby="t d">
<title id="t">From the name of an operator to the kernels that run</title>
<desc id="d">{description}</desc>
<style>
svg {{ --paper: #fbfaf7; --ink: #22262b; --pale: #6a6f76; --on: #1a5fb4; --fill: #d7e6f8; }}
@media (prefers-color-scheme: dark) {{
  svg {{ --paper: #16191d; --ink: #e4e6e8; --pale: #9aa0a8; --on: #8ab8f5; --fill: #1d3a5c; }}
}}
rect {{ fill: var(--paper); stroke: var(--pale); }}
text {{ font: 13px system-ui, sans-serif; fill: var(--ink); }}
path {{ fill: none; stroke: var(--on); stroke-width: 2; }}
.m {{ font-family: ui-monospace, Menlo, Consolas, monospace; }}
text.c {{ fill: var(--pale); }} .e {{ text-anchor: middle; }} .on {{ font-weight: bold; }}
rect.on {{ fill: var(--fill); stroke: var(--on); }} .by {{ stroke-dasharray: 4 4; }}
marker path {{ stroke: none; fill: var(--on); }}
</style>
<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="8"/>
{parts}
</svg>
"""


@dataclass(frozen=True)
class Row:
    """A row of an operator's table: who asks for it, and what stands in it."""

    key: str
    file: str
    fallthrough: bool
    # Whether the tensor has the key.
    asked: bool

    @property
    def runs(self) -> bool:
        """Whether its kernel is called."""
        return self.asked and not self.fallthrough

    @property
    def does(self) -> str:
        """What the row is to this call."""
        if not self.asked:
            return "a kernel, and x has no such key"
        return "fallthrough: passed over" if self.fallthrough else f"{self.file}: {DOES[self.file]}"


def read_rows() -> list[Row]:
    """Return the rows that are shown, the highest first, as PyTorch has them for a CPU tensor."""
    keys = torch._C._dispatch_keys(torch.ones(2, requires_grad=True))  # noqa: SLF001 - the picture's subject
    table = torch._C._dispatch_dump_table(OPERATOR)  # noqa: SLF001
    found = {
        match["key"]: Row(
            match["key"],
            match["file"],
            bool(match["fallthrough"]),
            keys.has(getattr(torch._C.DispatchKey, match["key"])),  # noqa: SLF001
        )
        for match in map(ROW.match, table.splitlines())
        if match and match["key"] in SHOWN
    }
    return [found[key] for key in SHOWN]


def draw(rows: Sequence[Row]) -> Iterator[str]:
    """Draw the keys of a tensor, the table, and the way of a call through it."""
    yield text(24, 34, "torch.add(x, y)", "m on")
    yield text(24, 66, "the keys of x", "c")
    yield text(TABLE - 75, 66, f"the table of {OPERATOR}", "c")
    for place, row in enumerate(rows):
        y = TOP + HIGH * place
        style = "on" if row.runs else "c"
        if row.asked:
            yield from box(TENSOR, y, 150, row.key, "on" if row.runs else "")
            yield arrow(f"M{TENSOR + 77} {y}H{TABLE - 78}", by=row.fallthrough)
        yield from box(TABLE, y, 150, row.key, style)
        yield text(KERNEL, y + 5, row.does, style)
    runs = [TOP + HIGH * place for place, row in enumerate(rows) if row.runs]
    for above, below in pairwise(runs):
        start, end, far = f"{TABLE + 77} {above + 6}", f"{TABLE + 79} {below - 4}", KERNEL - 10
        yield arrow(f"M{start}C{far} {above + 30} {far} {below - 30} {end}")
    yield text(
        24,
        DEEP - 42,
        "The highest key decides. A fallthrough takes its key out of the set beforehand,",
        "c",
    )
    yield text(
        24, DEEP - 22, "and a kernel that calls again leaves out its own key and those above.", "c"
    )


def box(x: float, y: float, wide: float, words: str, style: str) -> Iterator[str]:
    """Return a box around a word."""
    yield (
        f'<rect x="{x - wide / 2:g}" y="{y - 14:g}" width="{wide:g}" height="28" rx="5" '
        f'class="{style}"/>'
    )
    yield text(x, y + 5, words, f"m e {style}")


def arrow(path: str, *, by: bool = False) -> str:
    """Return a line with a head, dashed where nothing is called."""
    return f'<path class="{"by" if by else ""}" d="{path}" marker-end="url(#h)"/>'


def svg_of(rows: Sequence[Row]) -> str:
    """Return the picture."""
    told = "; ".join(f"{row.key}: {row.does}" for row in rows)
    return DOCUMENT.format(
        width=WIDE,
        height=DEEP,
        right=WIDE - 1,
        bottom=DEEP - 1,
        description=f"A call of {OPERATOR} with tensors on the CPU goes through the rows of its "
        f"table from the highest key down. {told}.",
        parts="\n".join(draw(rows)),
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(read_rows())
