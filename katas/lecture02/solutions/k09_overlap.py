"""Do these elements overlap? What PyTorch checks before it writes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod


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
    if 0 in window.sizes:
        return True
    dims = zip(window.strides, window.sizes, strict=True)
    expected = 1
    # Sort the dims from the smallest stride to the largest.
    for stride, size in sorted(dim for dim in dims if dim[1] > 1):
        if stride != expected:
            return False
        expected *= size
    return True


def internal_overlap(window: Window) -> Overlap:
    """Return whether one element appears at two indices.

    Return `NO` if dense, `YES` if a dim of size 2 or more has stride 0, otherwise `TOO_HARD`.
    """
    if is_dense(window):
        return Overlap.NO
    if any(s == 0 and n > 1 for s, n in zip(window.strides, window.sizes, strict=True)):
        return Overlap.YES
    return Overlap.TOO_HARD


def overlap_status(a: Window, b: Window) -> Overlap:
    """Return how two windows on one storage overlap. The first rule that applies wins.

    `NO` if one has no elements, `TOO_HARD` if one is not dense, `NO` if their ranges are disjoint,
    `FULL` if range and strides are equal (each element is read, then written), else `PARTIAL`.
    """
    if 0 in a.sizes or 0 in b.sizes:
        return Overlap.NO
    if not (is_dense(a) and is_dense(b)):
        return Overlap.TOO_HARD
    a_end, b_end = a.offset + prod(a.sizes), b.offset + prod(b.sizes)
    if a_end <= b.offset or b_end <= a.offset:
        return Overlap.NO
    same_stretch = (a.offset, a_end) == (b.offset, b_end)
    return Overlap.FULL if same_stretch and a.strides == b.strides else Overlap.PARTIAL
