"""Which sizes may change? Say so, and find out what became a constant.

An exported program accepts the shapes of its example and no others:

    Guard failed: x.size()[0] == 4

``dynamic_shapes`` says what may vary. With ``strict=False``, the default, a size marked
``Dim.AUTO`` silently becomes a constant if your code turns it into a number, by ``len(x)`` or
``int(x.shape[0])``; ``Dim.DYNAMIC`` and a named ``Dim`` raise an error.

1. `frozen` finds the constants. Print ``node.meta["val"].shape`` of a placeholder: a size is an
   int or a SymInt. A SymInt that became a constant is still a SymInt, but it prints as 4.
2. `specs` has an entry for each of `CONTRACTS`. The code of `Sums` would accept any rows; what you
   write is a promise to its callers, and the artefact enforces it.

    rows = Dim("rows", max=64)           y has rows + 1 of them: a derived dim

About 12 lines. Begin on paper: which contracts need one name for two sizes?
Real life differs: sizes 0 and 1 are special. With a one-row example, AUTO makes the size a
constant and logs a warning; the others raise an error.
Afterwards open ``torch/export/dynamic_shapes.py`` (`Dim`) in site-packages.
"""

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
    """Return the constant dims, with their sizes, for each input of the caller.

    ``{"x": {1: 3}}`` for x of shape (n, 3), ``{}`` for an x without constants; return ints, not
    SymInts. Leave out parameters and buffers: ``program.graph_signature.user_inputs`` lists the
    names of the caller's inputs.
    """
    # TODO: go through the placeholders of program.graph.
    raise NotImplementedError("frozen")


def specs() -> dict[str, Any]:
    """Return a dict from each contract's name to its ``dynamic_shapes`` for `Sums`.

    Each value is a dict with the keys x and y: ``{dim: Dim}`` for dims that vary, or None.
    """
    # TODO: return one dict of dicts.
    raise NotImplementedError("specs")
