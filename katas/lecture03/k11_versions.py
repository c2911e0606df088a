"""Version counters: how autograd notices that a saved tensor was overwritten.

"One of the variables needed for gradient computation has been modified by an inplace operation: ...
is at version 3; expected version 1 instead." You have met this error. Who counts, and when?

    x = torch.ones(2)
    x[:1].add_(1)
    print(x._version)    # 1: a view counts for its base

A tensor and its views share one counter, and each in-place write increments it. A node that saves a
tensor records the version, and compares it again when backward needs the tensor. Build that, in
about 25 lines:

1. `same_counter`: increment one tensor's counter, and look at the other's.
2. `SavedTensor`: the tensor with its recorded version. Its errors are given.
3. `exp`, like the given `square`. It saves its output, which needs care: if a node owns its result,
   which owns the node, both wait for the garbage collector (k10).

Do not run autograd: the gradient is a product with the saved tensor.

Begin with a guess: does ``x.data.add_(1)`` increment ``x._version``? And ``x.detach().add_(1)``?
Afterwards open ``torch/autograd/graph.py`` (``increment_version``) in site-packages, and read
``SavedVariable::unpack`` in PyTorch's ``torch/csrc/autograd/saved_variable.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# ---- given: what to raise; when is up to you -------------------------------------------------


def no_counter() -> RuntimeError:
    """Return the error for saving an inference tensor."""
    return RuntimeError("Inference tensors cannot be saved for backward: they have no version")


def overwritten(now: int, expected: int) -> RuntimeError:
    """Return the error for a needed tensor that was written to after it was saved."""
    return RuntimeError(
        "a tensor that backward needs has been modified by an inplace operation: "
        f"it is at version {now}; expected version {expected} instead"
    )


def released() -> RuntimeError:
    """Return the error for a needed tensor that has been released."""
    return RuntimeError("Trying to go backward through the graph a second time")


# ---- the exercise ----------------------------------------------------------------------------


def same_counter(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether an in-place write to `a` changes the version of `b`.

    ``increment_version`` of ``torch.autograd.graph`` increments a counter and does nothing else: no
    operator runs, no element changes, and leaves that need a gradient allow it. The counter may
    stay incremented. Inference tensors have no counter, so they share none, not even with
    themselves; reading their ``_version`` raises (check ``is_inference()``).
    """
    # TODO: increment one, look at the other.
    raise NotImplementedError("same_counter")


class SavedTensor:
    """A tensor that was saved for backward, and the version it had."""

    def __init__(self, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        """Save `tensor`; raise `no_counter` if it is an inference tensor.

        With `is_output`, `tensor` is a result of the node that saves it: keep a detached alias,
        which shares the memory and the counter, and does not own the node.
        """
        # TODO: what must it keep, and what must it not?
        raise NotImplementedError("SavedTensor")

    def unpack(self) -> torch.Tensor:
        """Return the same tensor that was saved, or the alias of an output, not a copy.

        Raise `released` after `release`, whatever the versions are, and `overwritten` if the
        counter has changed since the tensor was saved.
        """
        # TODO: compare the versions.
        raise NotImplementedError("SavedTensor.unpack")

    def release(self) -> None:
        """Drop the tensor, so that its memory can be freed."""
        # TODO: drop the tensor, and remember that it was released.
        raise NotImplementedError("SavedTensor.release")


def square(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x * x`` and its backward, which runs only once; `square` saves its input. Given."""
    saved = SavedTensor(x)

    def backward(grad: torch.Tensor) -> torch.Tensor:
        by_x = 2 * grad * saved.unpack()
        saved.release()
        return by_x

    return x * x, backward


def exp(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x.exp()`` and its backward, which runs once; `exp` saves only its output."""
    # TODO: like square, but with the result.
    raise NotImplementedError("exp")
