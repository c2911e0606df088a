"""Debug: six Modules that do not learn.

The loss goes down a little and then stays, and no error tells you why. Try one:

    model = Scaled(3)
    print([name for name, _ in model.named_parameters()])         # [] and yet it has a scale

Each class below has one bug of the kind, and so has `resumed`; the docstring says what it is for.
Mend all six: a changed line each, or two lines that change places.

- All that learns stands in ``parameters()``, gets its whole gradient, and moves with an optimizer.

Begin with two questions to each: is it in ``named_parameters()``, and is that object still the one
that ``forward`` uses?
Afterwards read ``Optimizer.add_param_group`` in ``torch/optim/optimizer.py``, in site-packages: it
keeps the parameters, and no Module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable


# TODO: find and mend one bug in each. Nothing raises NotImplementedError here: the code is
# written, and wrong.


class Ensemble(nn.Module):
    """The mean of `count` Linear layers, each of which learns."""

    def __init__(self, size: int, count: int) -> None:
        super().__init__()
        self.layers = [nn.Linear(size, 1) for _ in range(count)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of what the layers say."""
        return torch.stack([layer(x) for layer in self.layers]).mean(0)


class Scaled(nn.Module):
    """Adds an offset that is a constant, and multiplies by a scale that is learned."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.offset = nn.Buffer(torch.ones(size))
        self.scale = torch.ones(size, requires_grad=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (x + offset) * scale."""
        return (x + self.offset) * self.scale


class Tied(nn.Module):
    """Encodes by a weight and decodes by the same; both uses teach it."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x, encoded and decoded."""
        hidden = (x @ self.weight.t()).tanh()
        return hidden @ self.weight.data


class Tuned(nn.Module):
    """A backbone whose parameters stay as they are, and a head that learns."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        for parameter in self.parameters():
            parameter.requires_grad = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the head makes of what the backbone makes of x."""
        return self.head(self.backbone(x))


class Restarted(nn.Module):
    """A Linear map that can begin anew in mid-training: an optimizer goes on with it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the dot product with each row of x."""
        return x @ self.weight

    def restart(self) -> None:
        """Set the weight to zero, whatever it holds."""
        self.weight = nn.Parameter(torch.zeros_like(self.weight))


def resumed(
    make: Callable[[], nn.Module], state: dict[str, torch.Tensor]
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model made without memory, with the tensors of `state`, and its optimizer.

    The parameters lie in the memory of `state`: nothing is copied.
    """
    with torch.device("meta"):
        model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.load_state_dict(state, assign=True)
    return model, optimizer
