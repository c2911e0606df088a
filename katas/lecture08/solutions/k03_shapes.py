"""Which sizes may change? Say so, and find out what became a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn
from torch.export import Dim


if TYPE_CHECKING:
    from torch.export import ExportedProgram


class Sums(nn.Module):  # type: ignore[misc, unused-ignore]
    """Given: sums over the rows of x and of y, which may differ in number."""

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
    """Return the constant dims, with their sizes, for each input of the caller."""
    return {
        node.name: {
            dim: int(size)
            for dim, size in enumerate(node.meta["val"].shape)
            if str(size).isdecimal()
        }
        for node in program.graph.nodes
        if node.name in program.graph_signature.user_inputs
    }


def specs() -> dict[str, Any]:
    """Return a ``dynamic_shapes`` for `Sums` for each contract's name."""
    rows = Dim("rows", max=64)
    return {
        "limit": {"x": {0: Dim("rows", min=3, max=64)}, "y": None},
        "equal": {"x": {0: rows}, "y": {0: rows}},
        "double": {"x": {0: rows}, "y": {0: 2 * rows}},
        "next": {"x": {0: rows}, "y": {0: rows + 1}},
        "free": {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}},
    }
