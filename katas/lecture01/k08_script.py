"""Predict what today's PyTorch does with twelve lines from early 2017.

A repository from 2017 has the model you want. It runs, but its numbers are not the paper's. An
error would have been kinder:

    torch.LongTensor([3]) / 2          in 2017: 1, as in Python 2 and in C
                                       today: 1.5, without a warning

Below are twelve lines, each with its result in 2017. Predict on paper what each line does today:

- "same": it returns the same, without a warning;
- "warns": it runs, with a warning;
- "raises": it raises an error;
- "other": it returns something else, without a warning.

Begin with `loss_data`: which error message have you seen there?
Afterwards open ``torch/autograd/variable.py``, which is all that is left of a class that every
program once used, and ``tools/autograd/deprecated.yaml`` in PyTorch's repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change. Each docstring says what the line returned in 2017.
def wrapped(x: torch.Tensor) -> Any:
    """Wrap x with requires_grad set to True, and read it: True."""
    return torch.autograd.Variable(x, requires_grad=True).requires_grad


def bare(x: torch.Tensor) -> Any:
    """Ask whether a tensor that was not wrapped is a Variable: False."""
    return isinstance(x, torch.autograd.Variable)


def volatile(x: torch.Tensor) -> Any:
    """Switch autograd off for everything computed from x, and return requires_grad: False."""
    return torch.autograd.Variable(x, volatile=True).requires_grad


def loss_data(x: torch.Tensor) -> Any:
    """Read the value of a loss: 10.0."""
    return torch.autograd.Variable(x).sum().data[0]


def total(x: torch.Tensor) -> Any:
    """Ask whether the sum of a tensor is a Python float: True."""
    return isinstance(x.sum(), float)


def masked(x: torch.Tensor) -> Any:
    """Select the elements larger than 2 with a mask of bytes: [3.0, 4.0]."""
    return x[(x > 2).byte()].tolist()


def filled(x: torch.Tensor) -> Any:
    """Write 0 where a mask of bytes is 1: [[1.0, 2.0], [0.0, 0.0]]."""
    return x.clone().masked_fill_((x > 2).byte(), 0).tolist()


def scaled(x: torch.Tensor) -> Any:
    """Add 2 times x to x: [[3.0, 6.0], [9.0, 12.0]]."""
    return torch.add(x, 2, x).tolist()


def column_and_row(_: torch.Tensor) -> Any:
    """Add four numbers to a column of four, element by element: (4, 1)."""
    return tuple((torch.ones(4, 1) + torch.ones(4)).shape)


def square_and_row(_: torch.Tensor) -> Any:
    """Add four numbers to a square of four, element by element: (2, 2)."""
    return tuple((torch.ones(2, 2) + torch.ones(4)).shape)


def uninitialised(_: torch.Tensor) -> Any:
    """Create a matrix with a constructor named after the matrix's type; its shape is (2, 3)."""
    return tuple(torch.FloatTensor(2, 3).shape)


def zeroed(x: torch.Tensor) -> Any:
    """Read a gradient after zero_grad: 0.0."""
    weight = torch.nn.Parameter(x.clone())
    weight.sum().backward()
    torch.optim.SGD([weight], lr=0.1).zero_grad()
    return float(weight.grad.sum())


LINES: dict[str, tuple[Callable[[torch.Tensor], Any], Any]] = {
    "wrapped": (wrapped, True),
    "bare": (bare, False),
    "volatile": (volatile, False),
    "loss_data": (loss_data, 10.0),
    "total": (total, True),
    "masked": (masked, [3.0, 4.0]),
    "filled": (filled, [[1.0, 2.0], [0.0, 0.0]]),
    "scaled": (scaled, [[3.0, 6.0], [9.0, 12.0]]),
    "column_and_row": (column_and_row, (4, 1)),
    "square_and_row": (square_and_row, (2, 2)),
    "uninitialised": (uninitialised, (2, 3)),
    "zeroed": (zeroed, 0.0),
}


def predictions() -> dict[str, str]:
    """Return "same", "warns", "raises" or "other" for each name in `LINES`.

    Each function is called with ``torch.FloatTensor([[1, 2], [3, 4]])``.
    """
    # TODO: return {"wrapped": "...", ...}
    raise NotImplementedError("predictions")
