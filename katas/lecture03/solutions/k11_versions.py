"""Version counters: how autograd notices that a saved tensor was overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def same_counter(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether a write to `a` in place moves the version of `b`."""
    # To move the counter of an inference tensor is allowed, and does nothing.
    if b.is_inference():
        return False
    before = b._version  # noqa: SLF001
    torch.autograd.graph.increment_version(a)
    return b._version != before  # noqa: SLF001


class SavedTensor:
    """A tensor that was saved for backward, and the version it had."""

    def __init__(self, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        """Save `tensor`."""
        if tensor.is_inference():
            raise RuntimeError(
                "Inference tensors cannot be saved for backward: they have no version"
            )
        self.tensor: torch.Tensor | None = tensor.detach() if is_output else tensor
        self.version = tensor._version  # noqa: SLF001

    def unpack(self) -> torch.Tensor:
        """Return what was saved, if nobody has written to it since."""
        if self.tensor is None:
            raise RuntimeError("Trying to go backward through the graph a second time")
        now = self.tensor._version  # noqa: SLF001
        if now != self.version:
            raise RuntimeError(
                f"a tensor of shape {tuple(self.tensor.shape)} that backward needs has been "
                "modified by an inplace operation: "
                f"it is at version {now}; expected version {self.version} instead"
            )
        return self.tensor

    def release(self) -> None:
        """Let go of the tensor."""
        self.tensor = None


def exp(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x.exp()`` and its backward, which works once."""
    result = x.exp()
    # Only `saved` is kept: with `result` in the function, nothing would ever be let go.
    saved = SavedTensor(result, is_output=True)

    def backward(grad: torch.Tensor) -> torch.Tensor:
        by_x = grad * saved.unpack()
        saved.release()
        return by_x

    return result, backward


def square(x: torch.Tensor) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return ``x * x`` and its backward, which works once."""
    saved = SavedTensor(x)

    def backward(grad: torch.Tensor) -> torch.Tensor:
        by_x = 2 * grad * saved.unpack()
        saved.release()
        return by_x

    return x * x, backward
