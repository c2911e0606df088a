"""Predict the graph behind a tensor, after views and in-place writes.

After ``x[0] = y`` in a loop, the graph of x has a node called CopySlices. Where does it come from?

    x = leaf * 2                 MulBackward0(AccumulateGrad, None)
    x[0].exp_()                  CopySlices(MulBackward0(AccumulateGrad, None))

A write to a view is a write to its base and to all other views of the base: all their histories
change. Below are fourteen small programs. Write down, on paper, the graph of the tensor that each
returns; `Prediction` has the notation, `predictions` the rules.

1. Draw the tensors of a program: which are views, and of which base?
2. Go through the writes: which tensor does each reach in the end?
3. Look at the tensor that is returned: was it created before the last write to its base?

The tests run PyTorch, but hide it while they read your rows.

Begin with ``x[0]`` in `row`, then `base_of_written_view`, whose graph you have just seen.
Afterwards find ``CopySlices::apply_impl`` in PyTorch's
``torch/csrc/autograd/functions/tensor.cpp``: which part of the gradient goes where?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Prediction:
    """The history of a tensor.

    `graph` is its ``grad_fn``, as "Name" or "Name(child, child)", with a child for each entry of
    ``next_functions``. The node of a leaf is "AccumulateGrad"; "None" is an input that needs no
    gradient, or a missing ``grad_fn``. Names come from the operators: MulBackward0, AddBackward0,
    ExpBackward0, SelectBackward0 for ``x[0]``, TBackward0 for ``x.t()``. ``x.mul_(3)`` leaves the
    same node as ``x * 3``, and ``x[0] = y`` is ``x[0].copy_(y)``, with inputs x[0] and y.

    `is_leaf` is true if there is no ``grad_fn``; integers have no gradient.
    """

    graph: str
    is_leaf: bool
    requires_grad: bool


# Given: do not change.
def product(leaf: torch.Tensor) -> torch.Tensor:
    """Multiply by a tensor that needs no gradient."""
    return leaf * torch.ones(2, 2)


def row(leaf: torch.Tensor) -> torch.Tensor:
    """Make a view."""
    return (leaf * 2)[0]


def detached(leaf: torch.Tensor) -> torch.Tensor:
    """Start a new history."""
    return (leaf * 2).detach().requires_grad_()


def without_grad_mode(leaf: torch.Tensor) -> torch.Tensor:
    """Write in place without grad mode."""
    x = leaf * 2
    with torch.no_grad():
        x.mul_(3)
    return x


def index_of_largest(leaf: torch.Tensor) -> torch.Tensor:
    """Return integers."""
    return (leaf * 2).argmax()


def in_place(leaf: torch.Tensor) -> torch.Tensor:
    """Write to a result."""
    x = leaf * 2
    x.exp_()
    return x


def into_a_constant(leaf: torch.Tensor) -> torch.Tensor:
    """Write something that needs a gradient to a tensor that needs none."""
    x = torch.zeros(2, 2)
    x.add_(leaf)
    return x


def base_of_written_view(leaf: torch.Tensor) -> torch.Tensor:
    """Write to a view, and return its base."""
    x = leaf * 2
    x[0].exp_()
    return x


def written_view(leaf: torch.Tensor) -> torch.Tensor:
    """Write to a view, and return it."""
    x = leaf * 2
    view = x.t()
    view.exp_()
    return view


def view_of_written_base(leaf: torch.Tensor) -> torch.Tensor:
    """Write to the base, and return a view created before the write."""
    x = leaf * 2
    view = x[0]
    x.mul_(3)
    return view


def assigned_row(leaf: torch.Tensor) -> torch.Tensor:
    """Fill a buffer row by row, as loops often do."""
    x = torch.zeros(2, 2)
    x[0] = leaf[1]
    return x


def other_view(leaf: torch.Tensor) -> torch.Tensor:
    """Write to one view, and return another."""
    x = leaf * 2
    first, second = x[0], x[1]
    first.exp_()
    return second


def detached_write(leaf: torch.Tensor) -> torch.Tensor:
    """Write to a tensor that shares the memory, but not the history."""
    x = leaf * 2
    x.detach()[0].zero_()
    return x


def view_without_grad_mode(leaf: torch.Tensor) -> torch.Tensor:
    """Make a view without grad mode."""
    x = leaf * 2
    with torch.no_grad():
        return x[0]


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    function.__name__: function
    for function in (
        product,
        row,
        detached,
        without_grad_mode,
        index_of_largest,
        in_place,
        into_a_constant,
        base_of_written_view,
        written_view,
        view_of_written_base,
        assigned_row,
        other_view,
        detached_write,
        view_without_grad_mode,
    )
}


def predictions() -> dict[str, Prediction]:
    """Return a `Prediction` for each name in `PROGRAMS`.

    - An in-place write to a tensor that is not a view puts a node on top of its history.
    - A view has its base's history underneath. A write to it gives the base a CopySlices node: its
      children are the base's old history, then the children of the write's own node except the
      first.
    - A view made before a write to its base or to any view of it, including itself, gets a new
      ``grad_fn``: here AsStridedBackward0 on top of the base's. The old one is dropped. (A view
      that strides alone cannot describe, such as ``conj()``, keeps its kind of node.)
    - The result of ``detach`` shares the memory, but not the history: a write to it leaves the
      graph of its base unchanged.
    - Without grad mode nothing is recorded. A view made there has no ``grad_fn``, but requires a
      gradient if its base does.
    """
    # TODO: return {"product": Prediction(graph="...", is_leaf=..., requires_grad=...), ...}
    raise NotImplementedError("predictions")
