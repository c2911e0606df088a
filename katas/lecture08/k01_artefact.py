"""An artefact is a graph, and a list that says which tensor goes where.

``torch.export`` calls a Module with tensors that have no values, and keeps the operators that run:

    print(torch.export.export(Scorer(), (torch.rand(4, 3),)))

There are six placeholders for one input: the graph owns no tensors, so weights are arguments too.
And two lines of ``forward`` have left no trace. In `origins` read the signature; in `call` do by
hand what ``program.module()`` does for you. Six lines.

Begin with ``print(program.graph_signature.input_specs)``.
Afterwards open ``torch/export/graph_signature.py`` (`InputSpec`) in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from torch.export import ExportedProgram


class Scorer(nn.Module):  # type: ignore[misc, unused-ignore]
    """Given: parameters, buffers, a tensor that is neither, and Python side effects."""

    shift: torch.Tensor
    cache: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.register_buffer("shift", torch.tensor([2.0, 3.0]).sqrt())
        self.register_buffer("cache", torch.tensor([5.0, 7.0]).sqrt(), persistent=False)
        self.scale = torch.tensor([0.1, 0.3])
        self.shapes: list[torch.Size] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores of shape (n, 2) for x of shape (n, 3)."""
        print("forward of", x)  # noqa: T201 - the lesson: when does this print?
        self.shapes.append(x.shape)
        return torch.relu(self.fc(x)) * self.scale + self.shift + self.cache


def origins(program: ExportedProgram) -> dict[str, str | None]:
    """Return a dict from each placeholder's name, in order, to its tensor's name in the Module.

    The value is None if the caller passes the tensor in.
    """
    # TODO: a placeholder's name is spec.arg.name.
    raise NotImplementedError("origins")


def call(program: ExportedProgram, *inputs: torch.Tensor) -> tuple[Any, ...]:
    """Return the outputs of ``program.graph_module``, called with a tensor for each placeholder.

    The Module's tensors are in two dicts: ``program.state_dict`` and ``program.constants``.
    """
    # TODO: use the caller's inputs in the order given.
    raise NotImplementedError("call")
