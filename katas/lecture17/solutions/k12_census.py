"""Count the units that never fire."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from typing import Self

    from torch.utils.hooks import RemovableHandle


HEAD = "layer     units  dead  rare  firing"


def row(name: str, units: int, dead: int, rare: int, firing: float) -> str:
    """Return a line of the table. Given."""
    return f"{name:8} {units:6} {dead:5} {rare:5} {firing:7.3f}"


class Census:
    """Counts how often each unit of each ReLU fires, in the forwards inside the ``with``."""

    def __init__(self, model: nn.Module) -> None:
        self.layers = {n: m for n, m in model.named_modules() if isinstance(m, nn.ReLU)}
        # By layer, in the order of first calls: how often each unit fired, out of how many cases.
        self.fired: dict[str, torch.Tensor] = {}
        self.seen: dict[str, int] = {}
        self.handles: list[RemovableHandle] = []

    def __enter__(self) -> Self:
        """Register a hook on each ReLU."""
        for name, layer in self.layers.items():
            self.handles.append(layer.register_forward_hook(partial(self.see, name)))
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the hooks; let errors propagate."""
        while self.handles:
            self.handles.pop().remove()

    def see(self, name: str, _module: object, _inputs: object, out: torch.Tensor) -> None:
        """Update the counts with one output, [rows, units] or [rows, units, ...]."""
        fires = (out > 0).movedim(1, 0).flatten(1)
        self.fired[name] = self.fired.get(name, 0) + fires.sum(1)
        self.seen[name] = self.seen.get(name, 0) + fires.shape[1]

    def dead(self, name: str) -> list[int]:
        """Return the indices of the dead units of a layer."""
        found: list[int] = (self.fired[name] == 0).nonzero().flatten().tolist()
        return found

    def report(self) -> str:
        """Return HEAD and a `row` for each layer that ran, in the order of their first calls."""
        lines = [HEAD]
        for name, fired in self.fired.items():
            share = fired.double() / self.seen[name]
            rare = int(((share > 0) & (share < 0.01)).sum())
            lines.append(row(name, len(share), len(self.dead(name)), rare, share.mean().item()))
        return "\n".join(lines)
