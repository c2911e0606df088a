"""See every value of a forward, not only those of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn


class Tap(torch.fx.Interpreter):
    """Runs a model node by node: ``Tap(model).run(x)``."""

    def __init__(self, model: nn.Module, put: Mapping[str, torch.Tensor] | None = None) -> None:
        super().__init__(torch.fx.symbolic_trace(model))
        self.extra_traceback = False
        self.put = put or {}
        self.seen: dict[str, torch.Tensor] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        """Return the node's value, or a copy of the one in `put` under ``n.name``."""
        value = self.put[n.name].clone() if n.name in self.put else super().run_node(n)
        if isinstance(value, torch.Tensor):
            self.seen[n.name] = value.detach().clone()
        return value


def silent(model: nn.Module, x: torch.Tensor) -> dict[str, int]:
    """Return how many columns of a node's value [rows, columns] are all 0, for nodes with any."""
    tap = Tap(model)
    tap.run(x)
    counts = {name: int((value == 0).all(0).sum()) for name, value in tap.seen.items()}
    return {name: count for name, count in counts.items() if count}
