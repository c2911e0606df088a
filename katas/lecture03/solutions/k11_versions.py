"""Version counters: how autograd notices that a saved tensor was overwritten."""

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
    # Incrementing the counter of an inference tensor is allowed, and does nothing.
    if b.is_inference():
        return False
    before = b._version  # noqa: SLF001
    torch.autograd.graph.increment_version(a)
    return b._version != before  # noqa: SLF001


class SavedTensor:
    """A tensor that was saved for backward, and the version it had."""

    def __init__(self, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        """Save `tensor`; raise `no_counter` if it is an inference tensor.

        With `is_output`, `tensor` is a result of the node that saves it: keep a detached alias,
        which shares the memory and the counter, and does not own the node.
        """
        if tensor.is_inference():
            raise no_counter()
        self.tensor: torch.Tensor | None = tensor.detach() if is_output else tensor
        self.version = tensor._version  # noqa: SLF001

    def unpack(self) -> torch.Tensor:
        """Return the same tensor that was saved, or the alias of an output, not a copy.

        Raise `released` after `release`, whatever the versions are, and `overwritten` if the
        counter has changed since the tensor was saved.
        """
        if self.tensor is None:
            raise released()
        now = self.tensor._version  # noqa: SLF001
        if now != self.version:
            raise overwritten(now, self.version)
        return self.tensor

    def release(self) -> None:
        """Drop the tensor, so that its memory can be freed."""
        self.tensor = None


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
    result = x.exp()
    # The closure holds only `saved`: with `result` in it, nothing would be freed.
    saved = SavedTensor(result, is_output=True)

    def backward(grad: torch.Tensor) -> torch.Tensor:
        by_x = grad * saved.unpack()
        saved.release()
        return by_x

    return result, backward
