"""Fill in a table on paper: the writes that autograd allows, and those that it notices."""

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
    """Return an `Outcome`, or `RAISES`, for the name of each function in `PROGRAMS`."""
    yes, no = True, False
    return {
        "no_grad_product": Outcome(no, yes, 0),
        "enabled_again": Outcome(yes, no, 0),
        "switched_off": Outcome(no, yes, 0),
        # requires_grad_ makes it a leaf that requires grad, in any mode.
        "new_leaf_in_no_grad": Outcome(yes, yes, 0),
        "leaf_written": RAISES,
        "leaf_written_in_no_grad": Outcome(yes, yes, 2),
        "leaf_written_by_view": RAISES,
        # An alias shares the counter; .data does not.
        "alias_written": Outcome(yes, yes, 1),
        "data_written": Outcome(yes, yes, 0),
        "plain_written": Outcome(yes, no, 1),
        "view_written": Outcome(yes, no, 1),
        "no_grad_view_written": RAISES,
        "one_of_many_written": RAISES,
        "detached_for_good": Outcome(no, yes, 1),
    }
