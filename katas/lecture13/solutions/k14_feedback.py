"""Gradient compression: what a message leaves out is added to the next gradient."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

import torch
from torch import distributed as dist
from torch import nn


Message = tuple[torch.Tensor, ...]


class TopK:
    """Sends the elements of largest magnitude, and their positions. Given."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the values and their positions: two contiguous tensors with one dim."""
        positions = flat.abs().topk(max(1, int(self.fraction * flat.numel()))).indices
        return flat[positions], positions.int()

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor of `size` elements that is 0 except at these positions."""
        values, positions = message
        flat = values.new_zeros(size)
        flat[positions] = values
        return flat


@dataclass
class State:
    """What the hook is registered with: how to compress, and what has not been sent. Given."""

    compressor: TopK
    errors: dict[nn.Parameter, torch.Tensor] = field(default_factory=dict)


def compressed_hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return a future with the mean of what all ranks sent, and remember what was not sent.

    - ``bucket.buffer()`` is one flat tensor; ``bucket.gradients()`` are contiguous views of it, in
      the order of ``bucket.parameters()``. You may write to them.
    - ``state.errors`` has a tensor for each parameter, with the parameter's shape and its own
      memory: DDP creates new buckets after the first backward, so a bucket's index cannot be the
      key.
    - Each tensor of the message is sent with one ``dist.all_gather(..., async_op=True)``. Do not
      wait: ``get_future()`` of each handle, ``torch.futures.collect_all``, then ``.then``.
    """
    flat, compressor, ranks = bucket.buffer(), state.compressor, dist.get_world_size()
    for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
        if parameter in state.errors:
            gradient.add_(state.errors[parameter])
    message = compressor.encode(flat)
    errors = flat - compressor.decode(message, flat.numel())
    parts = errors.split([parameter.numel() for parameter in bucket.parameters()])
    for parameter, part in zip(bucket.parameters(), parts, strict=True):
        state.errors[parameter] = part.view_as(parameter)
    gathered = [[torch.empty_like(each) for _ in range(ranks)] for each in message]
    works = [
        dist.all_gather(parts, each, async_op=True)
        for parts, each in zip(gathered, message, strict=True)
    ]

    def mean(_: object) -> torch.Tensor:
        decoded = [compressor.decode(each, flat.numel()) for each in zip(*gathered, strict=True)]
        return torch.stack(decoded).mean(0)

    return torch.futures.collect_all([work.get_future() for work in works]).then(mean)


# Given: DDP compares annotations with types, and those of this module are strings.
compressed_hook.__annotations__.clear()
