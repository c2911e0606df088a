"""The signature read by its kinds; the graph run node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from torch.export import ExportedProgram


class Scorer(nn.Module):  # type: ignore[misc, unused-ignore]
    """Given: a parameter or two, buffers, a tensor that is neither, and Python."""

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
        print("forward of", x)  # noqa: T201 - the lesson: who prints, and when?
        self.shapes.append(x.shape)
        return torch.relu(self.fc(x)) * self.scale + self.shift + self.cache


def origins(program: ExportedProgram) -> dict[str, str | None]:
    """Return each placeholder's name, in order, with its tensor's name in the Module."""
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    placeholders = (node for node in program.graph.nodes if node.op == "placeholder")
    return {node.name: names.get(node.name) for node in placeholders}


def call(program: ExportedProgram, *inputs: torch.Tensor) -> tuple[Any, ...]:
    """Return the outputs of ``program.graph_module``, called with a tensor for each placeholder."""
    rest = list(inputs)
    values = []
    for name in origins(program).values():
        if name is None:
            values.append(rest.pop(0))
        elif name in program.constants:
            values.append(program.constants[name])
        else:
            values.append(program.state_dict[name])
    return tuple(torch.fx.Interpreter(program.graph_module).run(*values))
