"""Debug: six programs that do not export.

You export a model, and PyTorch answers with a page of text. One of its first lines says what is
wrong, and the fix is one line:

    Could not guard on data-dependent expression Eq(u0, 1)     Python asks for a value
    You marked ... as dynamic but your code specialized it     a size became a number
    Encountered aliasing during higher order op tracing        a branch returned its input

Fix all six, a line each, so that they return what the docstrings say. Dim 0 of `average` and
`positions` is exported as ``Dim.DYNAMIC``; the other sizes are fixed.

Begin by running the tests with ``--all-failures``: for each program, one test quotes PyTorch.
Real life differs: programs that export and are wrong are worse. The value of a global, of a
``list.append`` or of a Python random number is silently stored in the artefact.
Afterwards open ``torch/_higher_order_ops/cond.py`` (`cond`) in site-packages. Its docstring does
not mention what `flip` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


# TODO: fix them. Nothing here raises NotImplementedError: this is code that does not export.


def shift(x: torch.Tensor) -> torch.Tensor:
    """Return x + 1 if the sum of all elements is positive, else x - 1."""
    if x.sum() > 0:
        return x + 1
    return x - 1


def scale(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element."""
    return x / float(x.numpy().max())


@dataclass
class Pair:
    """Two tensors of the same shape; a program may take a Pair if PyTorch knows the class."""

    left: torch.Tensor
    right: torch.Tensor


def distance(pair: Pair) -> torch.Tensor:
    """Return the sum of the squared differences."""
    return (pair.left - pair.right).square().sum()


def average(x: torch.Tensor) -> torch.Tensor:
    """Return the mean of the rows of x: shape (3,) for x of shape (n, 3)."""
    return x.sum(0) / int(x.shape[0])


def positions(x: torch.Tensor) -> torch.Tensor:
    """Return x, (n, 3), with 0 added to row 0, 1 to row 1 and so on, in the dtype of x."""
    return x + torch.tensor([[0.0], [1.0], [2.0], [3.0]])


def flip(x: torch.Tensor) -> torch.Tensor:
    """Return -x if the sum of all elements is positive, else x."""
    result: torch.Tensor = torch.cond(x.sum() > 0, lambda y: -y, lambda y: y, (x,))
    return result
