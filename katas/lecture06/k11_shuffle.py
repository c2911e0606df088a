"""Shuffle a stream through a buffer.

A stream has no known end, so how can it be shuffled? A buffer holds a few samples; each new one
takes the place of a randomly drawn one, which goes out:

    stream   5 6 7 ...  -->  buffer [0 3 1 4]  -->  out: 2 ...

A sample can be late by any number of positions. But early? With a buffer of four, sample 9 is not
among the first six, so a file sorted by class stays nearly sorted.

Write `shuffled`, about 8 lines.

On paper: which samples can go out first?
Afterwards see ``ShufflerIterDataPipe`` in ``torch/utils/data/datapipes/iter/combinatorics.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import TypeVar

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def shuffled(source: Iterable[T], size: int, generator: torch.Generator) -> Iterator[T]:
    """Yield each item of `source` once, through a buffer of `size` items.

    First fill the buffer. For each new item, draw a place uniformly with `generator`, yield the
    item in that place, and put the new one there. At the end, yield the rest in an
    order that is also drawn.
    """
    # TODO: fill the buffer, exchange items, empty the buffer.
    raise NotImplementedError("shuffled")
    yield
