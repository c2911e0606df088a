"""Save on four ranks, load on two."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


class Box(NamedTuple):
    """A part of a tensor: where it starts, and how long it is, in each dimension."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


class Read(NamedTuple):
    """What to take from saved box number `box`: ``wanted[into] = saved[source]``."""

    box: int
    source: tuple[slice, ...]
    into: tuple[slice, ...]


def reads(wanted: Box, saved: Sequence[Box]) -> list[Read]:
    """Return a `Read` for each saved box that shares an element with `wanted`, in order."""
    found = []
    for number, box in enumerate(saved):
        both = list(zip(*wanted, *box, strict=True))
        shared = [(max(w, b), min(w + n, b + m)) for w, n, b, m in both]
        if all(start < end for start, end in shared):
            into, source = (
                tuple(slice(s - o, e - o) for (s, e), o in zip(shared, offsets, strict=True))
                for offsets in (wanted.offsets, box.offsets)
            )
            found.append(Read(number, source, into))
    return found


def load(
    wanted: Box, saved: Sequence[Box], fetch: Callable[[int, tuple[slice, ...]], torch.Tensor]
) -> torch.Tensor:
    """Return the float64 tensor of `wanted`; ``fetch(box, source)`` reads a piece of a file."""
    result = torch.empty(wanted.sizes, dtype=torch.float64)
    for read in reads(wanted, saved):
        result[read.into] = fetch(read.box, read.source)
    return result
