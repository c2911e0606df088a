"""Asked whether each size is concrete; free with two names; the constant of limit by its number."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn
from torch.export import Dim


if TYPE_CHECKING:
    from torch.export import ExportedProgram


class Sums(nn.Module):  # type: ignore[misc, unused-ignore]
    """Given: sums over the rows of x and of y, which need not be equally many."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return shape (3,) for x of shape (n, 3) and y of shape (m, 3)."""
        return x.sum(0) + y.sum(0)


# Given: do not change. "Rows" are dim 0. The examples of the tests have a few rows.
CONTRACTS = {
    "limit": "x has 3 to 64 rows, y as many as its example",
    "equal": "x has at most 64 rows, y as many as x",
    "double": "x has at most 64 rows, y twice as many",
    "next": "x has at most 64 rows, y one more",
    "free": "x and y have any number of rows; code that makes a constant of one is refused",
}


def frozen(program: ExportedProgram) -> dict[str, dict[int, int]]:
    """Return for each tensor of the caller the dims that are constants, with their sizes."""
    from torch.fx.experimental.symbolic_shapes import is_concrete_int  # noqa: PLC0415

    return {
        node.name: {
            dim: int(size)
            for dim, size in enumerate(node.meta["val"].shape)
            if is_concrete_int(size)
        }
        for node in program.graph.nodes
        if node.name in program.graph_signature.user_inputs
    }


def specs() -> dict[str, Any]:
    """Return a ``dynamic_shapes`` for `Sums` by the name of its contract."""
    rows = Dim("rows", max=64)
    return {
        "limit": {"x": {0: Dim("rows", min=3, max=64)}, "y": {0: Dim.STATIC}},
        "equal": {"x": {0: rows}, "y": {0: rows}},
        "double": {"x": {0: rows}, "y": {0: 2 * rows}},
        "next": {"x": {0: rows}, "y": {0: rows + 1}},
        "free": {"x": {0: Dim("x_rows")}, "y": {0: Dim("y_rows")}},
    }
