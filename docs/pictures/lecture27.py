"""Draws the operators of a forward and a backward with their values, the picture of lecture 27.

The rows are PyTorch's: a dispatch mode sees each operator that runs.
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
    from collections.abc import Mapping
    from collections.abc import Sequence


# In pixels: the columns of boxes, their size, and how far the rows lie apart.
LEFT, WIDE, HIGH, STEP, TOP = 190, 70, 26, 36, 56
# They make no values of their own.
PLUMBING = ("detach", "scalar_tensor", "expand")


@dataclass(frozen=True)
class Row:
    """An operator that ran: its name, its values, and whether the backward called it."""

    name: str
    values: tuple[float, ...]
    backward: bool


class Notes(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Notes each operator with what it returned."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.rows: list[Row] = []
        self.backward = False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run it, and note it."""
        result = func(*args, **(kwargs or {}))
        name = func.name().removeprefix("aten::").partition(".")[0]
        if name not in PLUMBING:
            values = tuple(float(value) for value in result.detach().reshape(-1).tolist())
            self.rows.append(Row(name, values, self.backward))
        return result


def read_rows() -> list[Row]:
    """Run a root behind a mask, forward and backward."""
    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with Notes() as notes:
        loss = torch.where(x > 0, x.sqrt(), 0.0).sum()
        notes.backward = True
        torch.autograd.backward(loss)
    return list(notes.rows)


def svg_of(rows: Sequence[Row]) -> str:
    """Draw a row of boxes for each operator; gold is NaN."""
    shapes = [text(EDGE, 32, "torch.where(x > 0, x.sqrt(), 0.0).sum().backward()", "b")]
    y = TOP
    for number, row in enumerate(rows):
        if row.backward and not rows[number - 1].backward:
            shapes.append(text(EDGE, y + 18, "backward", "c"))
            y += STEP
        shapes.append(text(EDGE, y + 18, row.name))
        for place, value in enumerate(row.values):
            x = LEFT + (WIDE + 6) * place
            colour = "gold" if value != value else "blue"  # noqa: PLR0124 - NaN alone differs
            shapes.append(
                f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" class="{colour}"/>'
                f"{text(x + WIDE / 2, y + 18, f'{value:g}', 'm')}"
            )
        y += STEP
    shapes.append(text(EDGE, y + 22, "x = [0, 1, 4]; gold is NaN, and the loss has none", "c"))
    parts = [
        f"{row.name} {'in the backward ' if row.backward else ''}returns "
        + ", ".join(f"{value:g}" for value in row.values)
        for row in rows
    ]
    return document(
        2 * EDGE + LEFT + 3 * (WIDE + 6),
        y + 40,
        title="The first NaN is made in the backward",
        description="; ".join(parts),
        shapes=shapes,
    )


def svg() -> str:
    """Draw what PyTorch says of it."""
    return svg_of(read_rows())
