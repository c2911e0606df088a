"""Predict what grad modes do to twenty-four small programs.

Every program in `PROGRAMS` (given, do not change it) takes two tensors of its own::

    x = torch.ones(3, requires_grad=True)        # a leaf
    w = torch.ones(3)                            # requires no grad

and returns one tensor. Write down for each, without running it, either `RAISES`, if it stops
with a RuntimeError, or an `Outcome` of the tensor it returns:

- `requires_grad` and `is_leaf`, as ``tensor.requires_grad`` and ``tensor.is_leaf`` say. A leaf is
  what has no ``grad_fn``: all that requires no grad, and all that no recorded operation made;
- `is_inference`, as ``tensor.is_inference()`` says;
- `version`, as ``tensor._version`` says: how many in-place operations that autograd was told of
  have written to the data, through this tensor, its base, a view or a detached alias. None for
  inference tensors, which have no counter: reading it raises.

What helps: a result requires grad if an input does and grad mode is on. ``no_grad`` turns grad mode
off, ``inference_mode`` too, and in it nothing is recorded, even where grad mode is turned on again,
and every *new* tensor is an inference tensor; ``inference_mode(mode=False)`` is as outside, with
grad mode on. A view of a normal tensor is a normal one wherever it is made, and says that it
requires grad if its base does. Outside, inference tensors may be read, but neither written to nor
saved for backward. A view that was made where grad mode was off may not be written to where it is
on, nor may one of several views that one operator returned, if grad is required. A leaf that
requires grad may be written to, by itself or through a view, only where grad mode is off.
``requires_grad_`` lets a normal leaf require grad, whatever the mode; outside, an inference tensor
refuses it.

24 lines, pencil and paper: the tests run PyTorch, and take it away while they read yours.

In PyTorch: ``torch/autograd/grad_mode.py`` (``inference_mode``),
``torch/csrc/autograd/VariableTypeUtils.h`` (``check_inplace``), ``torch/csrc/autograd/
variable.h`` (``handle_view_on_rebase``) and ``c10/core/InferenceMode.h`` (``InferenceMode``).
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
    # TODO: return {"no_grad_product": Outcome(requires_grad=..., is_leaf=..., ...), ...}
    raise NotImplementedError("predictions")
