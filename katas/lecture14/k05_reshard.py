"""Save on four ranks, load on two.

A checkpoint outlives the job that wrote it: the next job has fewer ranks, or shards by columns.
Each file holds one box of the tensor, and each rank wants a different box:

       saved by four ranks        wanted by two
       0 0 0 0 0 0                0 0 0 1 1 1
       1 1 1 1 1 1                0 0 0 1 1 1
       2 2 2 2 2 2                0 0 0 1 1 1
       3 3 3 3 3 3                0 0 0 1 1 1

No rank needs the whole tensor: rank 1 needs half a row from each file.
``torch.distributed.checkpoint`` does the same, but its `FileSystemReader` loads whole shards
and narrows them; your code reads only the pieces.

1. `reads`: find where boxes overlap, in the coordinates of each.
2. `load`: fetch these pieces and no other element. About 16 lines in all.

Begin on paper with one dimension: one box is [2, 7), the other [5, 9). Write start and end of their
overlap with max and min. When is there none?
Afterwards compare with ``_shards_get_overlap_region_wrt_saved_tensor`` in
``torch/distributed/checkpoint/resharding.py``, in site-packages.
"""

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
    """Return a `Read` for each saved box that shares an element with `wanted`, in order.

    Slices count from the corner of their own box; do not use ``slice(None)``. A scalar is a box
    without dimensions, with one element.
    """
    # TODO: max of the starts, min of the ends.
    raise NotImplementedError("reads")


def load(
    wanted: Box, saved: Sequence[Box], fetch: Callable[[int, tuple[slice, ...]], torch.Tensor]
) -> torch.Tensor:
    """Return the float64 tensor of `wanted`; ``fetch(box, source)`` reads a piece of a file.

    Together the saved boxes cover `wanted`, and they do not overlap.
    """
    # TODO: allocate the result, then fill in a piece for each read.
    raise NotImplementedError("load")
