"""Predict the graph behind a tensor, after views and in-place writes."""

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
    """Return a `Prediction` for each name in `PROGRAMS`."""
    twice = "MulBackward0(AccumulateGrad, None)"
    yes, no = True, False
    return {
        "product": Prediction(twice, no, yes),
        "row": Prediction(f"SelectBackward0({twice})", no, yes),
        "detached": Prediction("None", yes, yes),
        # The graph ignores the write: the gradient is wrong, and there is no error.
        "without_grad_mode": Prediction(twice, no, yes),
        "index_of_largest": Prediction("None", yes, no),
        "in_place": Prediction(f"ExpBackward0({twice})", no, yes),
        "into_a_constant": Prediction("AddBackward0(None, AccumulateGrad)", no, yes),
        # exp has one input, and the base takes its place.
        "base_of_written_view": Prediction(f"CopySlices({twice})", no, yes),
        "written_view": Prediction(f"AsStridedBackward0(CopySlices({twice}))", no, yes),
        "view_of_written_base": Prediction(
            f"AsStridedBackward0(MulBackward0({twice}, None))", no, yes
        ),
        # The write is a copy of leaf[1], which is its other input.
        "assigned_row": Prediction("CopySlices(None, SelectBackward0(AccumulateGrad))", no, yes),
        "other_view": Prediction(f"AsStridedBackward0(CopySlices({twice}))", no, yes),
        "detached_write": Prediction(twice, no, yes),
        "view_without_grad_mode": Prediction("None", yes, yes),
    }
