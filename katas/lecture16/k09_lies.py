"""Debug: five models that export, load, and answer wrongly.

Each of them passed its tests in PyTorch. Each was exported without an error, and loads. Then the
tickets arrive:

    Noisy      "The same request, twice: two answers."
    Counted    "It should number the batches. Every batch is number 1."
    Signed     "Rows with a missing value (NaN) count as neutral. In production they become NaN."
    Peak       "A NaN in a row should show up in its maximum. In production it is gone."
    Latest     "Since yesterday it takes batches of 3, and nothing else."

Fix each in a line or two, so that ONNX Runtime answers as the docstring says; `Counted` needs its
count from the caller. `export`, which is given, is correct.

Begin with the operators: ``[node.op_type for node in program.model_proto.graph.node]``.
Afterwards read ``ONNXRegistry.from_torchlib`` in
``torch/onnx/_internal/exporter/_registration.py``, and ``aten_sign`` in
``onnxscript/function_libs/torch_lib/ops/core.py``, in site-packages.
"""

from __future__ import annotations

import torch
from torch import nn


# TODO: find and fix one bug in each. Nothing raises NotImplementedError here: the code is
# written, and wrong for the file.


def export(model: nn.Module, *args: torch.Tensor) -> torch.onnx.ONNXProgram:
    """Return the program of a model; the first dim of the first input, x, is dynamic."""
    rows = ({0: torch.export.Dim("rows")}, *(None for _ in args[1:]))
    return torch.onnx.export(
        model, args, dynamo=True, opset_version=20, dynamic_shapes=rows, verbose=False
    )


class Noisy(nn.Module):
    """A layer with dropout for training only: its file gives the same answer every time."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output of the layers."""
        return self.layers(x)

    def exported(self, x: torch.Tensor) -> torch.onnx.ONNXProgram:
        """Return the program for serving, and leave the module in the mode it was in."""
        return export(self, x)


class Counted(nn.Module):
    """Adds its number to each batch: 1 to the first, 2 to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return x plus its number, and that number, to be passed as `count` next time."""
        self.count += 1
        return x + self.count, self.count.clone()


class Signed(nn.Module):
    """The sign of each element; the sign of NaN is 0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return 1, 0 or -1, in the dtype of x."""
        return torch.sign(x)


class Peak(nn.Module):
    """The maximum of each row, which is NaN if one of its elements is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a number for each row."""
        return x.max(dim=1).values


class Latest(nn.Module):
    """Divides each row by the number of rows, then subtracts the last row of x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many rows as x has."""
        return x / len(x) - x[-1]
