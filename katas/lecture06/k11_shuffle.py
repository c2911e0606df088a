"""Shuffle a stream through a buffer.

A stream has no end in sight, so who could shuffle it? A buffer holds some samples; each new one
takes the place of another, drawn at random, which goes out:

    stream   5 6 7 ...  -->  buffer [0 3 1 4]  -->  out: 2 ...

A sample can be late by any number. But early? With a buffer of four, sample 9 is not among the
first six, so a file sorted by class stays nearly sorted.

Write `shuffled`, about 8 lines.

On paper: which samples can go out first?
Afterwards see ``ShufflerIterDataPipe`` in ``torch/utils/data/datapipes/iter/combinatorics.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import TypeVar

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def shuffled(source: Iterable[T], size: int, generator: torch.Generator) -> Iterator[T]:
    """Yield each item of `source` one time, by way of a buffer of `size` items.

    The buffer is filled; then each new item takes a place that is drawn from `generator`, each
    with equal chances, after the item there has gone out. At the end what is left goes out, in an
    order that is drawn too.
    """
    # TODO: fill, exchange, empty.
    raise NotImplementedError("shuffled")
    yield
