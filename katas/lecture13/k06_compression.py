"""Gradient compression: send little, and remember what was not sent.

Where the network is slow, one sends less than the gradients: the largest hundredth of their
elements, or only their signs. What is left out is an error, the same one step after step perhaps,
and training may stall far from the optimum. Error feedback mends that: a rank keeps what it has
not sent and adds it to its next gradient. Nothing is lost then; some of it comes later.

A compressor has two methods. ``encode(flat)`` turns a tensor with one dim into a tuple of
contiguous tensors with one dim, the message, whose shapes and dtypes depend on nothing but the
tensor's. ``decode(message, size)`` turns a message into a tensor of `size` elements. Neither
changes its argument.

- ``TopK(fraction)`` sends the k elements of the largest magnitude, k = ``int(fraction * size)``
  but at least 1. The message is their values, and their positions as int32. Decoded, all other
  elements are 0.
- ``Signs()`` sends a bit for each element, eight of them in a byte (uint8; in the last byte some
  may be left over), and one number of the tensor's dtype: the mean of the magnitudes. Decoded, an
  element is plus or minus this number; 0 counts as positive. Which bit stands for which element
  is up to you.

``compressed_hook(state, bucket)`` is a communication hook for PyTorch's DistributedDataParallel:
after ``ddp.register_comm_hook(state, compressed_hook)`` it is called, in backward, with each
bucket that is full, instead of an all-reduce. ``State`` is given. Of the bucket (in PyTorch
``dist.GradBucket``; the tests also use one of their own) there are

- ``bucket.buffer()``: all its gradients in one flat tensor, which this rank has computed;
- ``bucket.parameters()`` and ``bucket.gradients()``: two lists in the same order, the order within
  the buffer. The gradients are contiguous views of the buffer; you may write to them.

The hook returns a ``torch.futures.Future`` whose value is what the bucket shall hold: one flat
tensor, the buffer itself if you like. Let c be the gradients plus this rank's error (0 at first).

- Encode c, all elements of the bucket at once, not each parameter by itself, and send the message
  to all ranks: nothing else, and each of its tensors by one all-gather.
- The future's value is the mean over all ranks of their decoded messages.
- With ``state.feedback``, what c has more than this rank's own decoded message is its new error.
  ``state.errors`` holds it, a tensor for each parameter, in its shape: the parameter is the key.
  Why not the bucket's ``index()``? Because DistributedDataParallel makes other buckets after the
  first backward. The errors share no memory with the buffer.
- Without it, c is the gradients alone, and nothing is kept.
- The hook does not wait for the other ranks: ``async_op=True``, then ``get_future()`` of each
  handle, ``torch.futures.collect_all``, and ``then``, whose callback gets a future that is done.

Out of scope: warm-up, momentum correction, sparse gradients. About 50 lines. Call nothing from
``torch.distributed.algorithms``.

In PyTorch: ``torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py``
(``fp16_compress_hook``) and ``powerSGD_hook.py`` (``PowerSGDState.error_dict``), which starts
only when the buckets have been made anew. Sources: Seide et al., "1-bit stochastic gradient
descent" (2014); Stich, Cordonnier and Jaggi, "Sparsified SGD with memory" (2018); Karimireddy et
al., "Error feedback fixes SignSGD" (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Protocol


if TYPE_CHECKING:
    import torch
    from torch import distributed as dist
    from torch import nn

    Message = tuple[torch.Tensor, ...]


class Compressor(Protocol):
    """What turns a tensor into a message and back. Given."""

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the message."""

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor of `size` elements."""


@dataclass
class State:
    """What the hook is registered with: how to compress, and what has not been sent. Given."""

    compressor: Compressor
    feedback: bool = True
    errors: dict[nn.Parameter, torch.Tensor] = field(default_factory=dict)


class TopK:
    """Sends the elements of the largest magnitude, and where they stand."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the values and their positions, int32."""
        # TODO: the largest magnitudes, with their signs.
        raise NotImplementedError("TopK.encode")

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor that is 0 but at these positions."""
        # TODO: put the values where they stood.
        raise NotImplementedError("TopK.decode")


class Signs:
    """Sends one bit for each element, and one magnitude for all."""

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the bits, eight in a byte, and the mean of the magnitudes."""
        # TODO: is an element negative? Eight answers make a byte.
        raise NotImplementedError("Signs.encode")

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return plus or minus the magnitude."""
        # TODO: take the bytes apart again.
        raise NotImplementedError("Signs.decode")


def compressed_hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return a future of the mean of what all ranks have sent, and remember what was not sent."""
    # TODO: add the error, encode, keep the new error, gather, decode and average.
    raise NotImplementedError("compressed_hook")


# Given: DDP compares annotations with types, and those of this module are text.
compressed_hook.__annotations__.clear()
