"""Debug: four modules are right, and their exported programs are wrong.

``torch.export.export`` runs your forward once and keeps a graph, for a machine without Python.
Whatever Python computed in that run is now a constant:

    program = torch.export.export(Noise(), (x,)).module()
    print(program(x), program(x))             # equal: the noise is a constant

Each module below has one such bug; its docstring says what it should do. Fix all four, in a line or
two each. Called eagerly, they must still do what their docstrings say.

Begin with `Noise`, and print ``torch.export.export(Noise(), (torch.ones(2),))``: where did the
noise go? Ask of each module: who does this once Python is gone?
Afterwards open ``torch/export/graph_signature.py``: what may a program read and write besides its
inputs?
"""

from __future__ import annotations

import random

import torch
from torch import Tensor


# TODO: find and fix one bug in each module. Nothing raises NotImplementedError here: the code is
# written, but wrong.


class Noise(torch.nn.Module):
    """Adds one number between 0 and 1 to all of x, a new number on every call."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x (any shape) plus a random number."""
        return x + random.random()  # noqa: S311


class Steps(torch.nn.Module):
    """Divides by the number of its calls so far, this one included."""

    def __init__(self) -> None:
        """Start with no calls."""
        super().__init__()
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        """Return x / 1 on the first call, x / 2 on the second."""
        self.steps += 1
        return x / self.steps


class Gain(torch.nn.Module):
    """Multiplies by a gain of 2, which ``load_state_dict({"gain": ...})`` can change."""

    def __init__(self) -> None:
        """Start with a gain of 2, which is not a parameter."""
        super().__init__()
        self.gain = torch.tensor(2.0)

    def forward(self, x: Tensor) -> Tensor:
        """Return x times the gain."""
        return x * self.gain


class Mean(torch.nn.Module):
    """Takes the mean over rows; it is exported for any number of rows, two or more."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean of the rows of x (n, m), as (m,)."""
        total = torch.zeros_like(x[0])
        for row in x:
            total = total + row
        return total / len(x)
