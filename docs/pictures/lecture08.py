"""Draws an exported program, the picture of lecture 08.

The rows are PyTorch's: a small Module is exported, its signature and its graph are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text
from plugins.kit import function_name


if TYPE_CHECKING:
    from collections.abc import Sequence


# In pixels: where the columns begin, how wide their boxes are, how far the rows lie apart.
NAMES, OPERATORS, WIDE, HIGH, STEP, TOP = 300, 560, 170, 30, 46, 62


@dataclass(frozen=True)
class Row:
    """A placeholder or an operator: its name, where its tensor comes from, what it reads."""

    name: str
    origin: str
    reads: tuple[str, ...]
    key: str


class Model(nn.Module):  # type: ignore[misc, unused-ignore]
    """What is exported: two parameters, a buffer, a tensor that is neither."""

    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("shift", torch.ones(2))
        self.scale = torch.ones(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return shape (n, 2) for x of shape (n, 3)."""
        return torch.relu(self.fc(x)) * self.scale + self.shift


def read_program() -> tuple[list[Row], list[Row]]:
    """Export the Module, and return its placeholders and its operators, in their order."""
    program = torch.export.export(Model(), (torch.ones(4, 3),))
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
    inputs, operators = [], []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            target = targets[node.name]
            home = "state_dict" if target in program.state_dict else "constants"
            origin = f'{home}["{target}"]' if target else "the caller"
            inputs.append(Row(node.name, origin, (), node.name))
        elif node.op == "call_function":
            reads = tuple(each.name for each in node.all_input_nodes)
            operators.append(Row(function_name(node.target), "", reads, node.name))
    return inputs, operators


def box(x: float, y: float, row: Row, colour: str) -> str:
    """Return a row's box with its name in it."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" class="{colour}"/>'
        f"{text(x + WIDE / 2, y + 20, row.name, 'm')}"
    )


def svg_of(inputs: Sequence[Row], operators: Sequence[Row]) -> str:
    """Return the picture: tensors on the left, placeholders, operators, and who reads what."""
    tops: dict[str, float] = {row.key: TOP + STEP * number for number, row in enumerate(inputs)}
    # The operators stand in the middle of the height.
    start = TOP + STEP * (len(inputs) - len(operators)) / 2
    tops |= {row.key: start + STEP * number for number, row in enumerate(operators)}
    placeholders = {row.key for row in inputs}
    paths, shapes = [], []
    heads = (EDGE, "who holds it"), (NAMES, "placeholder"), (OPERATORS, "operator")
    shapes += [text(x, 36, words, "b") for x, words in heads]
    for row in inputs:
        colour = "gold" if row.origin == "the caller" else "blue"
        shapes.append(text(EDGE, tops[row.key] + 20, row.origin, "c"))
        shapes.append(box(NAMES, tops[row.key], row, colour))
    for row in operators:
        y = tops[row.key] + HIGH / 2
        for key in row.reads:
            begin = tops[key] + HIGH / 2
            if key in placeholders:
                x: float = NAMES + WIDE
                middle = (x + OPERATORS) / 2
                paths.append(
                    f'<path d="M{x} {begin:g}C{middle:g} {begin:g} {middle:g} {y:g}'
                    f' {OPERATORS} {y:g}"/>'
                )
            else:
                x = OPERATORS + WIDE / 2
                paths.append(f'<path d="M{x:g} {begin + HIGH / 2:g}V{y - HIGH / 2:g}"/>')
        shapes.append(box(OPERATORS, tops[row.key], row, ""))
    last = tops[operators[-1].key] + HIGH
    paths.append(f'<path d="M{OPERATORS + WIDE / 2:g} {last:g}v24"/>')
    shapes.append(text(OPERATORS + WIDE / 2, last + 40, "output", "c m"))
    width, height = OPERATORS + WIDE + EDGE, TOP + STEP * len(inputs) + 34
    shapes.append(text(EDGE, height - 20, "x → torch.relu(self.fc(x)) * self.scale + self.shift"))
    sides = [f"{row.name} from {row.origin}" for row in inputs]
    steps = [f"{row.name} reads {', '.join(row.reads)}" for row in operators]
    return document(
        width,
        height,
        title="An exported program: placeholders, and the operators that read them",
        description="; ".join([*sides, *steps]),
        shapes=paths + shapes,
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(*read_program())
