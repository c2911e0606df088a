"""Fill in a table on paper: the writes that autograd allows, and those that it notices.

Three ways to add 1 to a weight, and three different answers:

    x = torch.ones(3, requires_grad=True)
    x.add_(1)                        # RuntimeError
    x.detach().add_(1)               # fine, and counted: x._version is 1
    x.data.add_(1)                   # fine, and not counted

Below are fourteen programs. Each gets ``x = torch.ones(3, requires_grad=True)`` and
``w = torch.ones(3)`` of its own, and returns a tensor. For each, write `RAISES` if it
raises a RuntimeError, otherwise the tensor's `Outcome`; the rules are in `predictions`. For each
program, ask:

1. Which grad mode is on when the tensor is created?
2. Is it new, a view, or an alias?
3. Which tensor is written to, in which mode?

The tests run PyTorch, but hide it while they read your rows.

Begin with `no_grad_product` and `enabled_again`: the innermost mode counts.
Afterwards find ``check_inplace`` in PyTorch's ``torch/csrc/autograd/VariableTypeUtils.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass(frozen=True)
class Outcome:
    """Properties of the returned tensor: a leaf has no ``grad_fn``."""

    requires_grad: bool
    is_leaf: bool
    version: int


RAISES = "raises"


# Given: do not change.
def no_grad_product(x: Tensor, w: Tensor) -> Tensor:
    """Multiply without grad mode."""
    with torch.no_grad():
        return x * w


def enabled_again(x: Tensor, w: Tensor) -> Tensor:
    """Multiply with grad mode off and on again."""
    with torch.no_grad(), torch.enable_grad():
        return x * w


def switched_off(x: Tensor, w: Tensor) -> Tensor:
    """Multiply after a call that sets grad mode according to its argument."""
    with torch.set_grad_enabled(w.requires_grad):
        return x * w


def new_leaf_in_no_grad(x: Tensor, w: Tensor) -> Tensor:
    """Call requires_grad_ on a result while grad mode is off."""
    with torch.no_grad():
        return (x * w).requires_grad_()


def leaf_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to a leaf."""
    return x.add_(w)


def leaf_written_in_no_grad(x: Tensor, w: Tensor) -> Tensor:
    """Write to a leaf twice while grad mode is off, as an optimizer does."""
    with torch.no_grad():
        x.add_(w)
        return x.add_(w)


def leaf_written_by_view(x: Tensor, w: Tensor) -> Tensor:
    """Write to a part of a leaf."""
    x[:2].add_(w[:2])
    return x


def alias_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to a detached alias, and return the leaf."""
    x.detach().add_(w)
    return x


def data_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to .data, and return the leaf."""
    x.data.add_(w)
    return x


def plain_written(x: Tensor, w: Tensor) -> Tensor:
    """Write something that requires grad into a tensor that does not."""
    return w.mul_(x)


def view_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to a view of a result, and return the result."""
    y = x * w
    y[0].add_(1)
    return y


def no_grad_view_written(x: Tensor, w: Tensor) -> Tensor:
    """Make a view while grad mode is off, and write to it while it is on."""
    y = x * w
    with torch.no_grad():
        view = y[0]
    view.add_(1)
    return y


def one_of_many_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to one of three views of a result."""
    y = x * w
    y.unbind()[0].add_(1)
    return y


def detached_for_good(x: Tensor, w: Tensor) -> Tensor:
    """Detach a result in place, after a write."""
    return (x * w).add_(1).detach_()


PROGRAMS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    no_grad_product,
    enabled_again,
    switched_off,
    new_leaf_in_no_grad,
    leaf_written,
    leaf_written_in_no_grad,
    leaf_written_by_view,
    alias_written,
    data_written,
    plain_written,
    view_written,
    no_grad_view_written,
    one_of_many_written,
    detached_for_good,
)


def predictions() -> dict[str, Outcome | str]:
    """Return an `Outcome`, or `RAISES`, for the name of each function in `PROGRAMS`.

    - A result requires grad if an input does and grad mode is on. A leaf has no ``grad_fn``: it
      requires no grad, or no recorded operator made it.
    - A leaf that requires grad may be written to, directly or through a view, only while grad mode
      is off.
    - If grad is required, two kinds of view must not be written to while grad mode is on: a view
      made while it was off, and one of several views returned by an operator.
    - ``requires_grad_`` makes a leaf require grad, whatever the mode.
    - `version` counts in-place writes through a tensor, its base, its views and detached aliases;
      ``.data`` has a counter of its own.
    """
    # TODO: return {"no_grad_product": Outcome(requires_grad=..., is_leaf=..., ...), ...}
    raise NotImplementedError("predictions")
