"""Version counters: how autograd notices that a saved tensor was overwritten.

A formula may need a tensor again that forward has seen. Between forward and backward anyone may
write to it. So a tensor and its views have one counter, ``tensor._version``, which each operation
in place moves up, and what is saved for backward remembers where it stood.

1. ``same_counter(a, b)``: do two tensors share a counter? Find out with
   ``torch.autograd.graph.increment_version(a)``, which does nothing else: it runs no operator,
   changes no element, and works on leaves that need a gradient. (The counter stays moved.) Tensors
   made in inference mode have no counter, so they share none; asking for ``_version`` is an error.
2. ``SavedTensor(tensor, is_output)``: what a node keeps of a tensor.

   - Making one of an inference tensor raises ``RuntimeError`` with "Inference tensors cannot be
     saved" in its message.
   - ``unpack()`` returns the very tensor. Of an output (a result of the node that saves it) it
     returns a detached alias instead, which has the same counter: with the result itself the node
     would own its result, which owns the node, and neither would ever be freed.
   - If the counter has moved since, ``unpack`` raises ``RuntimeError`` whose message contains
     "modified by an inplace operation", and "is at version 3; expected version 1 instead" with the
     numbers of the case.
   - ``release()`` lets go of the tensor. After it ``unpack`` raises ``RuntimeError`` with "backward
     through the graph a second time" in its message, whatever the versions.
3. ``exp(x)`` and ``square(x)``: return the result and a function ``backward(grad)`` that returns
   the gradient by `x`. Each saves one tensor as a `SavedTensor`: ``exp`` its output, ``square`` its
   input. ``backward`` releases it, so it works once.

The tests do the same things to PyTorch's operators and to yours, and compare who complains.
Nothing here needs autograd, and your operators must not run it. Out of scope: hooks on saved
tensors, sparse tensors.

About 35 lines. In PyTorch: ``torch/csrc/autograd/saved_variable.cpp`` (``SavedVariable::unpack``),
``c10/core/TensorImpl.h`` (``VariableVersion``), ``torch/autograd/graph.py``
(``increment_version``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def same_counter(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether a write to `a` in place moves the version of `b`."""
    # TODO: move one, look at the other.
    raise NotImplementedError("same_counter")


class SavedTensor:
    """A tensor that was saved for backward, and the version it had."""

    def __init__(self, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        """Save `tensor`."""
        # TODO: what must be kept, and what must not?
        raise NotImplementedError("SavedTensor")

    def unpack(self) -> torch.Tensor:
        """Return what was saved, if nobody has written to it since."""
        # TODO: compare the versions.
        raise NotImplementedError("SavedTensor.unpack")

    def release(self) -> None:
        """Let go of the tensor."""
        # TODO: and remember that it is gone.
        raise NotImplementedError("SavedTensor.release")


def exp(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x.exp()`` and its backward, which works once."""
    # TODO: save the result.
    raise NotImplementedError("exp")


def square(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x * x`` and its backward, which works once."""
    # TODO: save the input.
    raise NotImplementedError("square")
