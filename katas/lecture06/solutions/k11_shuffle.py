"""Shuffle a stream through a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import TypeVar

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def shuffled(source: Iterable[T], size: int, generator: torch.Generator) -> Iterator[T]:
    """Yield each item of `source` once, through a buffer of `size` items."""
    buffer: list[T] = []
    for item in source:
        buffer.append(item)
        if len(buffer) > size:
            place = int(torch.randint(size, (), generator=generator))
            buffer[place], buffer[-1] = buffer[-1], buffer[place]
            yield buffer.pop()
    yield from (buffer[i] for i in torch.randperm(len(buffer), generator=generator).tolist())
