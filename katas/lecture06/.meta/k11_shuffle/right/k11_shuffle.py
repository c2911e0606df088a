"""Shuffle a stream: the buffer is filled by islice, and emptied by draws."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING
from typing import TypeVar

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def shuffled(source: Iterable[T], size: int, generator: torch.Generator) -> Iterator[T]:
    """Yield each item of `source` one time, through a buffer of `size` items."""
    iterator = iter(source)
    buffer = list(islice(iterator, size))

    def draw() -> int:
        return int(torch.rand((), generator=generator, dtype=torch.float64) * len(buffer))

    for item in iterator:
        place = draw()
        out, buffer[place] = buffer[place], item
        yield out
    while buffer:
        yield buffer.pop(draw())
