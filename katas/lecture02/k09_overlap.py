"""Do these elements overlap? What PyTorch checks before it writes.

    x.expand(3, 4).add_(1)           # one element at three indices: refused
    torch.neg(x[:-1], out=x[1:])     # read at one index, written at another: refused
    x.unfold(0, 3, 1).add_(1)        # overlaps, and PyTorch goes on

Which element wins would depend on the order in which a kernel visits them. PyTorch looks before
it writes, but only by cheap tests on sizes and strides; what they cannot tell is `TOO_HARD`, and
is let through. Write the three tests, about 20 lines:

1. `is_dense`: no gaps, no repeats, dims in any order. Sort them by stride: which must the first
   have, which the next?
2. `internal_overlap`: dense means no, an expanded dim means yes.
3. `overlap_status` of two tensors. A dense one is a stretch of storage, from its offset on.

Begin on paper: which of (3, 1), (1, 2), (2, 1) makes sizes (2, 3) dense?
Afterwards read PyTorch's ``aten/src/ATen/MemoryOverlap.cpp``, and ``c10/core/Contiguity.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Overlap(Enum):
    """Given: what PyTorch knows about two sets of elements that may share memory."""

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
    """Return whether the elements fill a stretch of storage, without gap or repeat.

    The strides of dims of size 1 do not matter. A window without elements is dense.
    """
    # TODO: sort the dims by stride.
    raise NotImplementedError("is_dense")


def internal_overlap(window: Window) -> Overlap:
    """Return whether one element is seen at two indices.

    `NO` if dense, `YES` if a dim of size 2 or more has stride 0, otherwise `TOO_HARD`.
    """
    # TODO: two cheap certainties, and the rest.
    raise NotImplementedError("internal_overlap")


def overlap_status(a: Window, b: Window) -> Overlap:
    """Return what two windows on one storage share. The first that holds counts.

    `NO` if one has no elements, `TOO_HARD` if one is not dense, `NO` if their stretches do not
    meet, `FULL` for one stretch with equal strides (each element is read, then written), else
    `PARTIAL`.
    """
    # TODO: dense windows are intervals.
    raise NotImplementedError("overlap_status")
