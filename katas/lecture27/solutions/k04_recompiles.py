"""Four functions that compile too often."""

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

    def backend(graph: torch.fx.GraphModule, _inputs: object) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    return backend


class Steps(nn.Module):  # type: ignore[misc, unused-ignore]
    """Return x.sin() * 1, then x.sin() * 2, and so on; each Module counts separately."""

    def __init__(self) -> None:
        super().__init__()
        self.n = torch.tensor(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x.sin(), times the number of this call."""
        self.n = self.n + 1
        return x.sin() * self.n


def rows(compiles: Callable[..., Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function of x of shape (n, 4), compiled with `compiles`; n is 2 or more."""
    compiled = compiles(lambda x: x.sin() * x.shape[0])

    def run(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.mark_dynamic(x, 0)  # noqa: SLF001 - the documented name
        return compiled(x)  # type: ignore[no-any-return]

    return run


def convert(compiles: Callable[..., Any]) -> Callable[[torch.Tensor, str], torch.Tensor]:
    """Return a function of x and a unit, compiled with `compiles`; x is float32 or float64."""
    compiled = compiles(lambda x, metres: x.sin() * metres)
    return lambda x, unit: compiled(x, torch.tensor(METRES[unit], dtype=torch.float64))


def layout(compiles: Callable[..., Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function of x of shape (4, 4) with any strides, compiled with `compiles`."""
    compiled = compiles(lambda x: x.sin() * 2)
    return lambda x: compiled(x.contiguous())
