"""Gradient compression with NumPy's bits, lists of tensors, and errors that are made in place."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Protocol

import numpy as np
import torch
from torch import distributed as dist


Message = tuple[torch.Tensor, ...]


class Compressor(Protocol):
    """Given."""

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the message."""

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor."""


@dataclass
class State:
    """Given."""

    compressor: Compressor
    feedback: bool = True
    errors: dict = field(default_factory=dict)


class TopK:
    """Sorts."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction

    def encode(self, flat: torch.Tensor) -> Message:
        """Positions first sorted by magnitude, then by place."""
        k = int(self.fraction * len(flat)) or 1
        positions = flat.abs().argsort(descending=True)[:k].sort().values
        return flat.index_select(0, positions), positions.to(torch.int32)

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Scatter."""
        values, positions = message
        return torch.zeros(size, dtype=values.dtype).scatter(0, positions.long(), values)


class Signs:
    """The most significant bit comes first."""

    def encode(self, flat: torch.Tensor) -> Message:
        """1 is positive."""
        bits = np.packbits((flat >= 0).numpy())
        return torch.from_numpy(bits), flat.norm(p=1).div(flat.numel()).reshape(1)

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """From 0 and 1 to -1 and 1."""
        bits, scale = message
        signs = torch.from_numpy(np.unpackbits(bits.numpy(), count=size)).to(scale.dtype)
        return (2 * signs - 1) * scale


def compressed_hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Gather into lists; a promise is kept by the last of the gathers."""
    corrected = bucket.buffer().clone()
    parts = corrected.split([p.numel() for p in bucket.parameters()])
    if state.feedback:
        for p, part in zip(bucket.parameters(), parts, strict=True):
            part.add_(state.errors.get(p, torch.zeros_like(p)).detach().flatten())
    message = state.compressor.encode(corrected)
    if state.feedback:
        corrected -= state.compressor.decode(message, len(corrected))
        for p, part in zip(bucket.parameters(), parts, strict=True):
            state.errors[p] = part.reshape(p.shape)
    lists = [[torch.empty_like(t) for _ in range(dist.get_world_size())] for t in message]
    futures = [
        dist.all_gather(received, t, async_op=True).get_future()
        for received, t in zip(lists, message, strict=True)
    ]

    def average(_: object) -> torch.Tensor:
        decoded = [state.compressor.decode(m, len(corrected)) for m in zip(*lists, strict=True)]
        return torch.stack(decoded).mean(0)

    return torch.futures.collect_all(futures).then(average)


# Given.
compressed_hook.__annotations__.clear()
