"""Count the units that never fire.

After a few steps with too large a learning rate, the inputs of many ReLUs are negative for every
row of the data. They return 0, their gradient is 0, so they stay as they are: dead units. The loss
does not show them.

    layer     units  dead  rare  firing
    body.1        8     3     1   0.310
    body.3        4     0     0   0.522

Write `Census`, about 15 lines: it hooks each ReLU, counts over all batches, and prints this table.
A unit is a column, or a channel of images: dim 1 of the output. It fires where its output is above
0; it is dead if it never does, rare if it fires, but in fewer than 1 of 100 cases. `firing` is the
mean share over the units of the layer.

Begin with ``out > 0`` for an output of [rows, channels, height, width]: which dims do you count
over, and how would you move the others to the front? Afterwards read ``ReLU`` in
``torch/nn/modules/activation.py``, in site-packages. Real life differs: language models have few
ReLUs, but a GELU far to the left is just as dead.
"""

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
        # TODO: functools.partial gives a hook the layer's name.
        raise NotImplementedError("__enter__")

    def __exit__(self, *error: object) -> None:
        """Remove the hooks; let errors propagate."""
        # TODO
        raise NotImplementedError("__exit__")

    def see(self, name: str, _module: object, _inputs: object, out: torch.Tensor) -> None:
        """Update the counts with one output, [rows, units] or [rows, units, ...]."""
        # TODO: add to self.fired[name] and self.seen[name], which may not exist yet.
        raise NotImplementedError("see")

    def dead(self, name: str) -> list[int]:
        """Return the indices of the dead units of a layer."""
        # TODO
        raise NotImplementedError("dead")

    def report(self) -> str:
        """Return HEAD and a `row` for each layer that ran, in the order of their first calls."""
        # TODO: "\n".join
        raise NotImplementedError("report")
