"""What is behind this tensor? Predict it, after views and writes in place.

``x[0] = y`` in a loop, and the graph of x has a node called CopySlices. Where does it come from?

    x = leaf * 2                 MulBackward0(AccumulateGrad, None)
    x[0].exp_()                  CopySlices(MulBackward0(AccumulateGrad, None))

A write to a view is a write to its base, and to each other view of that: all histories change.
Fourteen small programs stand below. Write down, on paper, what is behind the tensor that each
returns; `Prediction` has the notation, `predictions` the rules.

1. Draw the tensors of a program: who is a view, and of whom?
2. Go through the writes: to whom does each go in the end?
3. Then the tensor that is returned: was it made before the last write to its base?

The tests run PyTorch, and take it away while they read your rows.

Begin with ``x[0]`` in `row`, then `base_of_written_view`, of which you have just seen the graph.
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
    gradient, or no ``grad_fn`` at all. Names come from the operators: MulBackward0, AddBackward0,
    ExpBackward0, SelectBackward0 for ``x[0]``, TBackward0 for ``x.t()``. ``x.mul_(3)`` leaves what
    ``x * 3`` does, and ``x[0] = y`` is ``x[0].copy_(y)``, with x[0] and y as inputs.

    `is_leaf` is true without a ``grad_fn``; integers have no gradient.
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
    """Begin a new history."""
    return (leaf * 2).detach().requires_grad_()


def without_grad_mode(leaf: torch.Tensor) -> torch.Tensor:
    """Write in place where nothing is recorded."""
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
    """Write to a view, look at its base."""
    x = leaf * 2
    x[0].exp_()
    return x


def written_view(leaf: torch.Tensor) -> torch.Tensor:
    """Write to a view, look at it."""
    x = leaf * 2
    view = x.t()
    view.exp_()
    return view


def view_of_written_base(leaf: torch.Tensor) -> torch.Tensor:
    """Write to the base, look at a view that was made before."""
    x = leaf * 2
    view = x[0]
    x.mul_(3)
    return view


def assigned_row(leaf: torch.Tensor) -> torch.Tensor:
    """Fill a buffer row by row, as often done in loops."""
    x = torch.zeros(2, 2)
    x[0] = leaf[1]
    return x


def other_view(leaf: torch.Tensor) -> torch.Tensor:
    """Write to one view, look at another."""
    x = leaf * 2
    first, second = x[0], x[1]
    first.exp_()
    return second


def detached_write(leaf: torch.Tensor) -> torch.Tensor:
    """Write to what shares the memory, but not the history."""
    x = leaf * 2
    x.detach()[0].zero_()
    return x


def view_without_grad_mode(leaf: torch.Tensor) -> torch.Tensor:
    """Make a view where nothing is recorded."""
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

    - A write in place puts a node on top of what the tensor had, if that is no view.
    - A view has its base's history underneath. A write to it gives the base CopySlices: first what
      the base had, then the children of the write's own node, but for the first.
    - A view made before a write to its base, or to any view of that, itself too, gets another
      ``grad_fn``: here AsStridedBackward0 on the base's. What it had is forgotten. (A view that
      strides alone do not make, as ``conj()`` does, keeps its kind of node.)
    - What ``detach`` returns shares the memory, and no history: a write to it leaves the
      graph of its base as it is.
    - Without grad mode nothing is recorded. A view made there has no ``grad_fn``, and requires a
      gradient if its base does.
    """
    # TODO: return {"product": Prediction(graph="...", is_leaf=..., requires_grad=...), ...}
    raise NotImplementedError("predictions")
