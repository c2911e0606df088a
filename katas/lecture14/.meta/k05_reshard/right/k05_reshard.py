"""Save on four ranks, load on two: by sets of indices, and clamped offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


class Box(NamedTuple):
    """A part of a tensor: where it begins in each dimension, and how long it is there."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


class Read(NamedTuple):
    """What to take from saved box number `box`: ``wanted[into] = saved[source]``."""

    box: int
    source: tuple[slice, ...]
    into: tuple[slice, ...]


def reads(wanted: Box, saved: Sequence[Box]) -> list[Read]:
    """Return a `Read` for each saved box that shares an element with `wanted`, in their order."""
    found = []
    for number, box in enumerate(saved):
        source: list[slice] = []
        into: list[slice] = []
        for mine, length, its, its_length in zip(*wanted, *box, strict=True):
            shared = range(mine, mine + length)
            common = [each for each in shared if 0 <= each - its < its_length]
            if not common:
                break
            source.append(slice(common[0] - its, common[-1] + 1 - its))
            into.append(slice(common[0] - mine, common[-1] + 1 - mine))
        else:
            found.append(Read(number, tuple(source), tuple(into)))
    return found


def load(
    wanted: Box, saved: Sequence[Box], fetch: Callable[[int, tuple[slice, ...]], torch.Tensor]
) -> torch.Tensor:
    """Return the float64 tensor of `wanted`."""
    result = torch.zeros(*wanted.sizes, dtype=torch.float64) if wanted.sizes else torch.zeros(())
    result = result.double()
    for box, source, into in reads(wanted, saved):
        result[into].copy_(fetch(box, source))
    return result
