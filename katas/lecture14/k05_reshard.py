"""Save on four ranks, load on two.

A checkpoint outlives the job that wrote it: the next one has fewer ranks, or cuts by columns. Each
file holds a box of the tensor, and each rank wants another box:

       saved by four ranks        wanted by two
       0 0 0 0 0 0                0 0 0 1 1 1
       1 1 1 1 1 1                0 0 0 1 1 1
       2 2 2 2 2 2                0 0 0 1 1 1
       3 3 3 3 3 3                0 0 0 1 1 1

No rank needs the whole tensor: rank 1 needs half a row of each file. That is what
``torch.distributed.checkpoint`` works out, too, but its `FileSystemReader` then loads a whole shard
and narrows it; yours asks for the piece alone.

1. `reads`: where two boxes meet, seen from either of them.
2. `load`: fetch these pieces, and no other element. About 16 lines in all.

Begin on paper with one dimension: one box has 2 up to but not including 7, the other 5 to 9. What
are start and end of what they share, in terms of max and min? When do they not meet?
Afterwards compare with ``_shards_get_overlap_region_wrt_saved_tensor`` in
``torch/distributed/checkpoint/resharding.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch  # noqa: TC002 - your answer calls it


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
    """Return a `Read` for each saved box that shares an element with `wanted`, in their order.

    Slices count from the corner of their own box; no ``slice(None)``. A scalar is a box of
    no dimensions, with one element.
    """
    # TODO: max of the beginnings, min of the ends.
    raise NotImplementedError("reads")


def load(
    wanted: Box, saved: Sequence[Box], fetch: Callable[[int, tuple[slice, ...]], torch.Tensor]
) -> torch.Tensor:
    """Return the float64 tensor of `wanted`; ``fetch(box, source)`` reads a piece of a file.

    The saved boxes hold all of it, and do not overlap.
    """
    # TODO: memory, then a piece for each read.
    raise NotImplementedError("load")
