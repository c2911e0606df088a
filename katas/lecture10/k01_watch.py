"""See the graph that torch.compile hands to its backend.

``torch.compile`` runs nothing itself. It reads the bytecode of your function and hands each piece
that it can express as a graph to a *backend*. What the backend returns runs in that piece's place.

    y = x.sin()            graph 1
    print("between")       Python runs this line: a graph break
    y.cos() + x            graph 2

Write the backend, about 6 lines. It prints each graph, so you see what was captured.

Begin by returning just ``graph``. Which test is still red, and why?
Afterwards open ``torch/_dynamo/backends/debugging.py`` in site-packages: ``eager`` is nearly yours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


class Watch:
    """A compiled function that shows its graphs and counts their runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Compile `function` with the method `backend` below. Given."""
        self.graphs: list[torch.fx.GraphModule] = []
        self.runs = 0
        self.compiled = torch.compile(function, backend=self.backend)

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function. Given."""
        return self.compiled(*args)

    def backend(
        self, graph: torch.fx.GraphModule, inputs: list[torch.Tensor]
    ) -> Callable[..., Any]:
        """Print ``graph.code``, append the graph to `graphs`, and return a function that runs it.

        That function takes the graph's inputs and returns the graph's result. Each time it is
        called it adds 1 to `runs`.
        """
        # TODO: this method is called once for each graph; the function it returns, on every call.
        raise NotImplementedError("backend")
