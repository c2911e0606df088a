"""Draws the drawers of a Module that lecture 05 opens with.

The Module is PyTorch's: each line is run, and who sees what it made is asked of the Module.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Iterator


# What is assigned in __init__, by name: the code, and the value.
LINES = {
    "weight": "nn.Parameter(torch.ones(2))",
    "mean": "nn.Buffer(torch.ones(2))",
    "cache": "nn.Buffer(torch.ones(2), persistent=False)",
    "layer": "nn.Linear(2, 2)",
    "table": "torch.ones(2)",
    "layers": "[nn.Linear(2, 2)]",
}
ASKED = ("parameters()", "double()", "state_dict()")
# In pixels: where the columns begin, and how high a row is.
DRAWER, SEEN, STEP, ROW, TOP = 510, 665, 120, 34, 78


@dataclass(frozen=True)
class Line:
    """An assignment: its drawer, and which of `ASKED` see what it made."""

    name: str
    code: str
    drawer: str
    seen: tuple[bool, ...]


def read_lines() -> list[Line]:
    """Run each line on a Module of its own, and ask."""
    return [read(name, code) for name, code in LINES.items()]


def read(name: str, code: str) -> Line:
    """Run one line."""
    module = nn.Module()
    setattr(module, name, eval(code, {"nn": nn, "torch": torch}))  # noqa: S307 - of this file
    drawers = {
        "parameters": [key for key, _ in module.named_parameters(recurse=False)],
        "buffers": [key for key, _ in module.named_buffers(recurse=False)],
        "modules": [key for key, _ in module.named_children()],
    }
    found = next((drawer for drawer, keys in drawers.items() if name in keys), "none")
    moved = getattr(copy.deepcopy(module).double(), name)
    first = next(iter(tensors_of(moved)))
    seen = (
        any(True for _ in module.parameters()),
        first.dtype == torch.float64,
        bool(module.state_dict()),
    )
    return Line(name, code, found, seen)


def tensors_of(value: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
    elif isinstance(value, list):
        for each in value:
            yield from tensors_of(each)


def svg_of(lines: list[Line]) -> str:
    """Return the picture."""
    shapes = [text(EDGE, 34, "in __init__", "b"), text(DRAWER, 34, "drawer", "b")]
    shapes += [text(SEEN + STEP * n, 34, name, "b") for n, name in enumerate(ASKED)]
    for number, line in enumerate(lines):
        y = TOP + ROW * number
        shapes.append(text(EDGE, y, f"self.{line.name} = {line.code}"))
        colour = {"none": "", "modules": "gold"}.get(line.drawer, "blue")
        shapes.append(
            f'<rect x="{DRAWER}" y="{y - 19}" width="120" height="26" rx="4" class="{colour}"/>'
        )
        shapes.append(text(DRAWER + 60, y - 1, line.drawer, "m"))
        for column, seen in enumerate(line.seen):
            words = "yes" if seen else "no"
            shapes.append(text(SEEN + STEP * column, y, words, "b" if seen else "c"))
    width, height = SEEN + STEP * len(ASKED) + EDGE, TOP + ROW * len(lines)
    told = "; ".join(
        f"self.{line.name} = {line.code}: drawer {line.drawer}, seen by "
        f"{', '.join(name for name, seen in zip(ASKED, line.seen, strict=True) if seen) or 'none'}"
        for line in lines
    )
    return document(
        width,
        height,
        title="Six assignments, and who sees what they make",
        description=told,
        shapes=shapes,
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(read_lines())
