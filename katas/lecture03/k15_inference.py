"""Fill in a table on paper: what inference mode, faster than no_grad, gives up.

A cache filled under ``torch.inference_mode()`` works for weeks, until training reads it:

    with torch.inference_mode():
        cache = torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    cache + w                # fine
    cache * w                # "Inference tensors cannot be saved for backward"

Below are ten programs. Each gets ``x = torch.ones(3, requires_grad=True)`` and
``w = torch.ones(3)`` of its own, and returns a tensor. For each, write `RAISES` if it
raises a RuntimeError, otherwise the tensor's `Outcome`; the rules are in `predictions`. For each
program, ask:

1. Is the tensor new, or a view of a normal one?
2. Where is it written to?
3. Does the backward of an operator need its value?

The tests run PyTorch, but hide it while they read your rows.

Begin with the two lines above: why does a sum work, but not a product?
Afterwards read about ``inference_mode`` in ``torch/autograd/grad_mode.py``, in site-packages.
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
    """Return an `Outcome`, or `RAISES`, for the name of each function in `PROGRAMS`.

    - In inference mode nothing is recorded, even if grad mode is turned on again, and each new
      tensor is an inference tensor. ``inference_mode(mode=False)`` ends that and turns grad mode
      on.
    - A view of a normal tensor is a normal tensor wherever it is made, and requires grad if its
      base does. It has no ``grad_fn`` if nothing was recorded, and is then a leaf.
    - Outside the mode, an inference tensor may be read, but neither written to nor saved for
      backward.
    - `version` counts in-place writes. Write None for an inference tensor, which has no counter:
      reading it raises.
    """
    # TODO: return {"inference_product": Outcome(requires_grad=..., is_leaf=..., ...), ...}
    raise NotImplementedError("predictions")
