"""Debug: four modules are right, and their exported programs are wrong."""

from __future__ import annotations

import torch
from torch import Tensor


class Noise(torch.nn.Module):
    """Adds one number between 0 and 1 to all of x, a new number on every call."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x (any shape) plus a random number."""
        return x + torch.rand((), dtype=x.dtype)


class Steps(torch.nn.Module):
    """Divides by the number of its calls so far, this one included."""

    def __init__(self) -> None:
        """Start with no calls."""
        super().__init__()
        self.steps: Tensor
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        """Return x / 1 on the first call, x / 2 on the second."""
        self.steps += 1
        return x / self.steps


class Gain(torch.nn.Module):
    """Multiplies by a gain of 2, which ``load_state_dict({"gain": ...})`` can change."""

    def __init__(self) -> None:
        """Start with a gain of 2, which is not a parameter."""
        super().__init__()
        self.gain: Tensor
        self.register_buffer("gain", torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        """Return x times the gain."""
        return x * self.gain


class Mean(torch.nn.Module):
    """Takes the mean over rows; it is exported for any number of rows, two or more."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean of the rows of x (n, m), as (m,)."""
        # No loop and no len: len needs an int, and a dynamic size is not an int.
        return x.mean(0)
