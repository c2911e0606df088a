"""What is behind this tensor? Predict the graphs of fourteen small programs.

Each program in `PROGRAMS` (given, do not change it) gets ``torch.ones(2, 2, requires_grad=True)``
and returns one tensor. Write down, without running it,

- `graph`: its ``grad_fn``, as "Name" or "Name(child, child)" with a child for each entry of
  ``next_functions``; the node of a leaf is "AccumulateGrad", and "None" stands for an input that
  needs no gradient, or for no ``grad_fn`` at all. So ``leaf * 2`` is
  "MulBackward0(AccumulateGrad, None)";
- `is_leaf` and `requires_grad`.

The names are those of the operators: MulBackward0, AddBackward0, ExpBackward0, SelectBackward0
(for ``x[0]``), TBackward0 (for ``x.t()``). The node of ``x.mul_(3)`` is that of ``x * 3``, and
``x[0] = y`` is ``x[0].copy_(y)``, whose node has x[0] and y as inputs. All you need to know:

- A write in place gives the tensor that is written to, if it is no view, a new ``grad_fn`` on top
  of what it had.
- A view has its base's history underneath. A write to a view is a write to its base, so to all
  that look at it: the base gets the node CopySlices, which stands for the write. Its first child
  is what the base had; the children of the write's own node follow, but for its first, which the
  base replaces.
- A view that was made before a write to its base (directly or through any view, this one too)
  has an old ``grad_fn``. It is replaced when somebody asks for it: by AsStridedBackward0, whose
  only child is the base's ``grad_fn``. What the view's own ``grad_fn`` was is forgotten.
- A tensor from ``detach`` shares memory with its source, but no history. A write to it leaves the
  source's graph as it is.
- Without grad mode nothing is recorded. A view made there has no ``grad_fn``, but still requires a
  gradient if its base does.
- A tensor is a leaf if it has no ``grad_fn``. Integers have no gradient.

Return one `Prediction` for every name. 14 entries, pencil and paper: the tests run PyTorch, and
take it away while they read yours.

In PyTorch: ``torch/csrc/autograd/variable.cpp`` (``VariableHooks::grad_fn``, ``rebase_history``),
``torch/csrc/autograd/functions/tensor.cpp`` (``CopySlices``), ``torch/csrc/autograd/variable.h``
(``DifferentiableViewMeta``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Prediction:
    """The history of a tensor."""

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
    """Return a `Prediction` for every name in `PROGRAMS`."""
    # TODO: return {"product": Prediction(graph="...", is_leaf=..., requires_grad=...), ...}
    raise NotImplementedError("predictions")
