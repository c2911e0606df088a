"""See the graph that torch.compile hands to its backend."""

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
        """Print and keep the graph; return a function that runs it and counts the runs."""
        print(graph.code)  # noqa: T201 - to see it is the point
        self.graphs.append(graph)

        def run(*args: Any) -> Any:
            self.runs += 1
            return graph(*args)

        return run
