"""Draws what a Jacobian asks for in lecture 11, by columns and by rows.

PyTorch's jacfwd and jacrev are run, and the matrix products that they launch are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from docs.pictures.drawing import EDGE
from docs.pictures.drawing import document
from docs.pictures.drawing import text


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# Functions from so many inputs to so many outputs.
SIZES = ((2, 64), (16, 64), (64, 64), (64, 16), (64, 2))
HIDDEN = 32
WAYS: dict[str, Callable[..., Any]] = {"jacfwd": torch.func.jacfwd, "jacrev": torch.func.jacrev}
COLOURS = {"jacfwd": "blue", "jacrev": "gold"}
PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.bmm.default}
# In pixels: how far the groups are apart, how wide a bar is, where they stand, and per vector.
STEP, BAR, TOP, TALL = 140, 34, 60, 2


class Widest(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Notes how many vectors the widest matrix product takes at a time."""

    vectors = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it."""
        result = func(*args, **(kwargs or {}))
        if func in PRODUCTS:
            self.vectors = max(self.vectors, result.numel() // result.shape[-1])
        return result


@dataclass(frozen=True)
class Measured:
    """A Jacobian: of which function, by which way, and how many vectors it carried."""

    inputs: int
    outputs: int
    way: str
    vectors: int


def measure() -> list[Measured]:
    """Run both ways for each size."""
    return [
        Measured(inputs, outputs, way, carried(inputs, outputs, way))
        for inputs, outputs in SIZES
        for way in WAYS
    ]


def carried(inputs: int, outputs: int, way: str) -> int:
    """Return the vectors in the widest product of a net with one hidden layer."""
    first, second = torch.ones(inputs, HIDDEN), torch.ones(HIDDEN, outputs)
    with Widest() as widest:  # type: ignore[no-untyped-call, unused-ignore]
        WAYS[way](lambda x: (x[None] @ first).tanh() @ second)(torch.ones(inputs))
    return int(widest.vectors)


def bar(x: int, floor: int, high: int, colour: str) -> str:
    """Return a bar that stands on the floor."""
    place = f'x="{x}" y="{floor - high}" width="{BAR}" height="{high}"'
    return f'<rect {place} class="{colour}"/>'


def svg_of(rows: Sequence[Measured]) -> str:
    """Return the picture of these."""
    floor = TOP + TALL * max(row.vectors for row in rows)
    shapes = [text(EDGE, 32, "vectors at a time, for the whole Jacobian", "b")]
    for number, row in enumerate(rows):
        group, second = divmod(number, len(WAYS))
        x = EDGE + STEP * group + (BAR + 6) * second
        high = TALL * row.vectors
        shapes += [
            bar(x, floor, high, COLOURS[row.way]),
            text(x + BAR / 2, floor - high - 6, str(row.vectors), "m"),
        ]
        if not second:
            words = f"{row.inputs} to {row.outputs}"
            shapes.append(text(x + BAR + 3, floor + 22, words, "c m"))
    shapes += [
        f'<rect x="{EDGE}" y="{floor + 42}" width="14" height="14" class="blue"/>',
        text(EDGE + 22, floor + 54, "jacfwd, by columns"),
        f'<rect x="{EDGE + 220}" y="{floor + 42}" width="14" height="14" class="gold"/>',
        text(EDGE + 242, floor + 54, "jacrev, by rows"),
    ]
    return document(
        2 * EDGE + STEP * len(SIZES),
        floor + 74,
        title="A Jacobian, by columns and by rows",
        description="Vectors that the widest matrix product takes at a time. "
        + "; ".join(
            f"{row.way} of {row.inputs} inputs and {row.outputs} outputs: {row.vectors}"
            for row in rows
        ),
        shapes=shapes,
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(measure())
