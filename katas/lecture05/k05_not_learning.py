"""Debug: six Modules that do not learn.

The loss goes down a little, then stops, and no error tells you why. Try one:

    model = Scaled(3)
    print([name for name, _ in model.named_parameters()])         # [] although it has a scale

Each class below has one such bug, and so does `resumed`; the docstrings say what each should do.
Fix all six: change one line each, or swap two lines.

- Everything that learns must be in ``parameters()``, get its whole gradient, and be updated by an
  optimizer.

Begin with two questions about each: is it in ``named_parameters()``, and is that object still the
one that ``forward`` uses?
Afterwards read ``Optimizer.add_param_group`` in ``torch/optim/optimizer.py``, in site-packages: it
keeps the parameters, but not the Module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable


# TODO: find and fix one bug in each. Nothing raises NotImplementedError here: the code is written,
# but wrong.


class Ensemble(nn.Module):
    """The mean of `count` Linear layers, each of which learns."""

    def __init__(self, size: int, count: int) -> None:
        super().__init__()
        self.layers = [nn.Linear(size, 1) for _ in range(count)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of the layers' results."""
        return torch.stack([layer(x) for layer in self.layers]).mean(0)


class Scaled(nn.Module):
    """Adds a constant offset, and multiplies by a learned scale."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.offset = nn.Buffer(torch.ones(size))
        self.scale = torch.ones(size, requires_grad=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (x + offset) * scale."""
        return (x + self.offset) * self.scale


class Tied(nn.Module):
    """Encodes and decodes with the same weight, which learns from both uses."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x, encoded and decoded."""
        hidden = (x @ self.weight.t()).tanh()
        return hidden @ self.weight.data


class Tuned(nn.Module):
    """A frozen backbone, and a head that learns."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        for parameter in self.parameters():
            parameter.requires_grad = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the head applied to the backbone applied to x."""
        return self.head(self.backbone(x))


class Restarted(nn.Module):
    """A Linear map that can be reset during training, with the same optimizer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the dot product of the weight with each row of x."""
        return x @ self.weight

    def restart(self) -> None:
        """Set the weight to zero, whatever it holds."""
        self.weight = nn.Parameter(torch.zeros_like(self.weight))


def resumed(
    make: Callable[[], nn.Module], state: dict[str, torch.Tensor]
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model made on meta, with the tensors of `state`, and its optimizer.

    The parameters use the memory of `state`: nothing is copied.
    """
    with torch.device("meta"):
        model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.load_state_dict(state, assign=True)
    return model, optimizer
