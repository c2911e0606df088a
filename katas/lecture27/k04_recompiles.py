"""Four functions that compile too often.

A run with torch.compile is slow in its first hour: it compiles, again and again.
TORCH_LOGS=recompiles names the guard that failed. Here are four functions that recompile:

    Steps      a counter in a Module      self.n == 1
    rows       a new batch size           tensor 'x' size mismatch at index 0. expected 3, actual 4
    convert    a string                   unit == 'cm'
    layout     a transposed matrix        tensor 'x' stride mismatch at index 0. ...

Reduce each to one graph, which must still do the work: `sin` and the product.

1. Write `counting`: a backend takes a graph and its inputs, and returns the function to run.
2. Fix all four, in a line or two each. The values must stay the same bit for bit.

Begin with `counting`, then run the tests: their messages quote the guards. Some numbers belong in
tensors, and you may mark a size with `torch._dynamo.mark_dynamic(x, dim)`.
Afterwards read `mark_dynamic` in ``torch/_dynamo/decorators.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable


METRES = {"mm": 0.001, "cm": 0.01, "in": 0.0254, "ft": 0.3048}


def counting(graphs: list[torch.fx.GraphModule]) -> Callable[..., Any]:
    """Return a backend for torch.compile that appends each graph and runs it unchanged."""
    # TODO: def backend(graph, inputs): ...
    raise NotImplementedError("counting")


class Steps(nn.Module):  # type: ignore[misc, unused-ignore]
    """Return x.sin() * 1, then x.sin() * 2, and so on; each Module counts separately.

    One backward may cover the results of several calls.
    """

    def __init__(self) -> None:
        super().__init__()
        # TODO: one graph. Now each number has its own graph, as a constant.
        self.n = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x.sin(), times the number of this call."""
        self.n += 1
        return x.sin() * self.n


def rows(compiles: Callable[..., Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function of x of shape (n, 4), compiled with `compiles`; n is 2 or more.

    The 4 stays a constant of the graph.
    """
    # TODO: one graph for any n.
    return compiles(lambda x: x.sin() * x.shape[0])  # type: ignore[no-any-return]


def convert(compiles: Callable[..., Any]) -> Callable[[torch.Tensor, str], torch.Tensor]:
    """Return a function of x and a unit, compiled with `compiles`; x is float32 or float64."""
    # TODO: one graph for any unit.
    return compiles(lambda x, unit: x.sin() * METRES[unit])  # type: ignore[no-any-return]


def layout(compiles: Callable[..., Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function of x of shape (4, 4) with any strides, compiled with `compiles`."""
    # TODO: one graph for any strides.
    return compiles(lambda x: x.sin() * 2)  # type: ignore[no-any-return]
