"""Do these elements overlap? What PyTorch checks before it writes.

    x.expand(3, 4).add_(1)           # one element at three indices: refused
    torch.neg(x[:-1], out=x[1:])     # read at one index, written at another: refused
    x.unfold(0, 3, 1).add_(1)        # overlaps, but is allowed

The result would depend on the order in which a kernel visits the elements. PyTorch checks before it
writes, but only with cheap tests on sizes and strides; whatever they cannot decide is `TOO_HARD`,
and is allowed. Write the three tests, about 20 lines:

1. `is_dense`: no gaps, no repeats, dims in any order. Sort the dims by stride: which stride must
   the first have, and which the next?
2. `internal_overlap`: dense means no, an expanded dim means yes.
3. `overlap_status` of two tensors. A dense tensor is a contiguous range of storage, starting at its
   offset.

Begin on paper: which of (3, 1), (1, 2), (2, 1) makes sizes (2, 3) dense?
Afterwards read PyTorch's ``aten/src/ATen/MemoryOverlap.cpp``, and ``c10/core/Contiguity.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Overlap(Enum):
    """Given: what PyTorch can say about elements that may share memory."""

    NO = "no element is shared"
    YES = "an element is certainly seen at two indices"
    FULL = "the same elements at the same indices"
    PARTIAL = "elements may be shared at different indices"
    TOO_HARD = "not decided: that would cost more than the operator itself"


@dataclass(frozen=True)
class Window:
    """Given: the sizes, strides and storage offset of a tensor, in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def is_dense(window: Window) -> bool:
    """Return whether the elements fill a range of storage without gaps or repeats.

    The strides of dims of size 1 do not matter. A window without elements is dense.
    """
    # TODO: sort the dims by stride.
    raise NotImplementedError("is_dense")


def internal_overlap(window: Window) -> Overlap:
    """Return whether one element appears at two indices.

    Return `NO` if dense, `YES` if a dim of size 2 or more has stride 0, otherwise `TOO_HARD`.
    """
    # TODO: two cases are cheap and certain; the rest is not.
    raise NotImplementedError("internal_overlap")


def overlap_status(a: Window, b: Window) -> Overlap:
    """Return how two windows on one storage overlap. The first rule that applies wins.

    `NO` if one has no elements, `TOO_HARD` if one is not dense, `NO` if their ranges are disjoint,
    `FULL` if range and strides are equal (each element is read, then written), else `PARTIAL`.
    """
    # TODO: dense windows are intervals.
    raise NotImplementedError("overlap_status")
