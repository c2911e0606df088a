"""Debug: five models that export, load, and answer wrongly."""

from __future__ import annotations

import torch
from torch import nn


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
        mode = self.training
        try:
            return export(self.eval(), x)
        finally:
            self.train(mode)


class Counted(nn.Module):
    """Adds its number to each batch: 1 to the first, 2 to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return x plus its number, and that number, to be passed as `count` next time."""
        following = count.clone().add_(1)
        return x + following, following


class Signed(nn.Module):
    """The sign of each element; the sign of NaN is 0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return 1, 0 or -1, in the dtype of x."""
        return torch.where(x.isnan(), 0.0, torch.sign(x))


class Peak(nn.Module):
    """The maximum of each row, which is NaN if one of its elements is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a number for each row."""
        return x.max(dim=1).values + self.missing(x)

    def missing(self, x: torch.Tensor) -> torch.Tensor:
        """Return NaN for a row with NaN, else 0."""
        return torch.where(x.isnan(), x, 0.0).sum(1)


class Latest(nn.Module):
    """Divides each row by the number of rows, then subtracts the last row of x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many rows as x has."""
        return x / x.shape[0] - x[-1]
