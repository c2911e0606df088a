"""Fill in a table on paper: what inference mode, faster than no_grad, gives up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass(frozen=True)
class Outcome:
    """Properties of the returned tensor."""

    requires_grad: bool
    is_leaf: bool
    is_inference: bool
    version: int | None


RAISES = "raises"


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
    """Switch inference mode off inside it."""
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
    """Write to an inference tensor outside the mode."""
    return inference_product(x, w).add_(1)


def inference_added(x: Tensor, w: Tensor) -> Tensor:
    """Add an inference tensor to a leaf: the formula of a sum needs neither input."""
    return inference_product(x, w) + x


def inference_multiplied(x: Tensor, w: Tensor) -> Tensor:
    """Multiply an inference tensor by a leaf: the formula needs the other factor."""
    return inference_product(x, w) * x


def inference_read(x: Tensor, w: Tensor) -> Tensor:
    """Multiply an inference tensor by a tensor that requires no grad, outside the mode."""
    return inference_product(x, w) * w


PROGRAMS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
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
)


def predictions() -> dict[str, Outcome | str]:
    """Return an `Outcome`, or `RAISES`, for the name of each function in `PROGRAMS`."""
    yes, no = True, False
    return {
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
    }
