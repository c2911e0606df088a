"""Do these elements overlap? What PyTorch checks before it writes.

``x.expand(3, 4).add_(1)`` and ``torch.neg(x[:-1], out=x[1:])`` would give answers that depend on
the order in which a kernel visits the elements. PyTorch refuses both, by three cheap tests on
sizes and strides. None of them looks at every element: where the cheap test cannot tell, the
answer is `Overlap.TOO_HARD`, and the operator goes on. Write the three.

1. ``is_dense(window)``: non-overlapping and dense, the property that nearly everything else
   rests on. The elements fill a stretch of the storage without a gap and without a repeat, the
   dims in any order: a row-major tensor, its transpose and a channels-last one all do. Dims of
   size 1 do not matter, and neither does the offset. A window without elements is dense.
   Otherwise sort the dims by stride: the first stride must be 1, the next one 1 times the
   first size, the next that times the second size, and so on.
2. ``internal_overlap(window)``: `NO` if the window is dense. `YES` if a dim of size 2 or more
   has stride 0, which ``expand`` makes: several indices, one element. Otherwise `TOO_HARD`.
3. ``overlap_status(a, b)``: for two windows on the same storage. If either has no elements,
   `NO`. If either is not dense, `TOO_HARD`. Dense windows are stretches of the storage, from
   the offset on, as long as they have elements. Stretches that do not meet: `NO`. The same
   stretch with equal strides: `FULL`, which is harmless, since every element is read before it
   is written. All other cases: `PARTIAL`.

Ints and tuples only; no tensor is made. About 25 lines. In PyTorch:
``aten/src/ATen/MemoryOverlap.cpp`` (``has_internal_overlap``, ``get_overlap_status``) and
``c10/core/Contiguity.h`` (``_compute_non_overlapping_and_dense``).
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
    """Return whether the elements fill a stretch of storage, without gap or repeat."""
    # TODO: sort the dims by stride.
    raise NotImplementedError("is_dense")


def internal_overlap(window: Window) -> Overlap:
    """Return `NO`, `YES` or `TOO_HARD`: whether one element is seen at two indices."""
    # TODO: two cheap certainties, and the rest.
    raise NotImplementedError("internal_overlap")


def overlap_status(a: Window, b: Window) -> Overlap:
    """Return `NO`, `FULL`, `PARTIAL` or `TOO_HARD` for two windows on one storage."""
    # TODO: dense windows are intervals.
    raise NotImplementedError("overlap_status")
