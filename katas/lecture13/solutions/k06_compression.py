"""Gradient compression: what a message leaves out is added to the next gradient."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Protocol

import torch
from torch import distributed as dist


if TYPE_CHECKING:
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
        k = max(1, int(self.fraction * flat.numel()))
        positions = flat.abs().topk(k).indices
        return flat[positions], positions.int()

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor that is 0 but at these positions."""
        values, positions = message
        flat = values.new_zeros(size)
        flat[positions] = values
        return flat


class Signs:
    """Sends one bit for each element, and one magnitude for all."""

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the bits, eight in a byte, and the mean of the magnitudes."""
        bits = flat.new_zeros(-(-flat.numel() // 8) * 8, dtype=torch.uint8)
        bits[: flat.numel()] = flat < 0
        packed = (bits.view(-1, 8) << bits.new_tensor(range(8))).sum(1, dtype=torch.uint8)
        return packed, flat.abs().mean().view(1)

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return plus or minus the magnitude."""
        packed, scale = message
        bits = packed.view(-1, 1) >> packed.new_tensor(range(8)) & 1
        is_negative = bits.flatten()[:size].bool()
        return torch.where(is_negative, -scale, scale)


def compressed_hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return a future of the mean of what all ranks have sent, and remember what was not sent."""
    flat, compressor = bucket.buffer(), state.compressor
    for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
        if parameter in state.errors:
            gradient.add_(state.errors[parameter])
    message = compressor.encode(flat)
    if state.feedback:
        errors = flat - compressor.decode(message, flat.numel())
        parts = errors.split([parameter.numel() for parameter in bucket.parameters()])
        for parameter, part in zip(bucket.parameters(), parts, strict=True):
            state.errors[parameter] = part.view_as(parameter)

    ranks = dist.get_world_size()
    gathered = [tensor.new_empty(ranks * tensor.numel()) for tensor in message]
    works = [
        dist.all_gather(list(everyone.chunk(ranks)), tensor, async_op=True)
        for everyone, tensor in zip(gathered, message, strict=True)
    ]

    def mean(_: object) -> torch.Tensor:
        flat.zero_()
        for received in zip(*(tensor.chunk(ranks) for tensor in gathered), strict=True):
            flat.add_(compressor.decode(received, flat.numel()), alpha=1 / ranks)
        return flat

    return torch.futures.collect_all([work.get_future() for work in works]).then(mean)


# Given: DDP compares annotations with types, and those of this module are text.
compressed_hook.__annotations__.clear()
