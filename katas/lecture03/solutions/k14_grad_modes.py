"""Predict what grad modes do to twenty-four small programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass(frozen=True)
class Outcome:
    """What the returned tensor says of itself."""

    requires_grad: bool
    is_leaf: bool
    is_inference: bool
    version: int | None


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
    """Multiply after a function that switches grad mode by its argument."""
    with torch.set_grad_enabled(w.requires_grad):
        return x * w


def new_leaf_in_no_grad(x: Tensor, w: Tensor) -> Tensor:
    """Ask a result to require grad where grad mode is off."""
    with torch.no_grad():
        return (x * w).requires_grad_()


def inference_product(x: Tensor, w: Tensor) -> Tensor:
    """Multiply in inference mode."""
    with torch.inference_mode():
        return x * w


def inference_view(x: Tensor, w: Tensor) -> Tensor:
    """Make a view of a normal tensor in inference mode."""
    with torch.inference_mode():
        return x.view(3)


def grad_in_inference(x: Tensor, w: Tensor) -> Tensor:
    """Turn grad mode on within inference mode."""
    with torch.inference_mode(), torch.enable_grad():
        return x * w


def inference_off_again(x: Tensor, w: Tensor) -> Tensor:
    """Leave inference mode within it."""
    with torch.inference_mode(), torch.inference_mode(mode=False):
        return x * w


def inference_written_inside(x: Tensor, w: Tensor) -> Tensor:
    """Write to a new tensor in inference mode."""
    with torch.inference_mode():
        return (x * w).add_(1)


def normal_written_inside(x: Tensor, w: Tensor) -> Tensor:
    """Write to a normal tensor in inference mode."""
    with torch.inference_mode():
        return w.add_(1)


def inference_written_outside(x: Tensor, w: Tensor) -> Tensor:
    """Write to an inference tensor outside."""
    return inference_product(x, w).add_(1)


def inference_added(x: Tensor, w: Tensor) -> Tensor:
    """Add an inference tensor to a leaf: the formula of a sum needs neither."""
    return inference_product(x, w) + x


def inference_multiplied(x: Tensor, w: Tensor) -> Tensor:
    """Multiply an inference tensor with a leaf: the formula needs the other factor."""
    return inference_product(x, w) * x


def inference_read(x: Tensor, w: Tensor) -> Tensor:
    """Multiply an inference tensor outside with a tensor that requires no grad."""
    return inference_product(x, w) * w


def leaf_written(x: Tensor, w: Tensor) -> Tensor:
    """Write to a leaf."""
    return x.add_(w)


def leaf_written_in_no_grad(x: Tensor, w: Tensor) -> Tensor:
    """Write to a leaf where grad mode is off, as an optimizer does, twice."""
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
    """Make a view where grad mode is off, and write to it where it is on."""
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
    inference_product,
    inference_view,
    grad_in_inference,
    inference_off_again,
    inference_written_inside,
    normal_written_inside,
    inference_written_outside,
    inference_added,
    inference_multiplied,
    inference_read,
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
    """Return an `Outcome`, or `RAISES`, for the name of every function in `PROGRAMS`."""
    yes, no = True, False
    return {
        "no_grad_product": Outcome(no, yes, no, 0),
        "enabled_again": Outcome(yes, no, no, 0),
        "switched_off": Outcome(no, yes, no, 0),
        # requires_grad_ makes a leaf of it, in any mode.
        "new_leaf_in_no_grad": Outcome(yes, yes, no, 0),
        "inference_product": Outcome(no, yes, yes, None),
        # A view of a leaf, without a node of its own.
        "inference_view": Outcome(yes, yes, no, 0),
        "grad_in_inference": Outcome(no, yes, yes, None),
        "inference_off_again": Outcome(yes, no, no, 0),
        "inference_written_inside": Outcome(no, yes, yes, None),
        "normal_written_inside": Outcome(no, yes, no, 1),
        "inference_written_outside": RAISES,
        "inference_added": Outcome(yes, no, no, 0),
        "inference_multiplied": RAISES,
        "inference_read": Outcome(no, yes, no, 0),
        "leaf_written": RAISES,
        "leaf_written_in_no_grad": Outcome(yes, yes, no, 2),
        "leaf_written_by_view": RAISES,
        # An alias shares the counter; .data does not.
        "alias_written": Outcome(yes, yes, no, 1),
        "data_written": Outcome(yes, yes, no, 0),
        "plain_written": Outcome(yes, no, no, 1),
        "view_written": Outcome(yes, no, no, 1),
        "no_grad_view_written": RAISES,
        "one_of_many_written": RAISES,
        "detached_for_good": Outcome(no, yes, no, 1),
    }
