"""Can this reshape be a view? Compute its strides, or say that a copy is needed.

``x.t().view(6)`` raises "view size is not compatible with input tensor's size and stride", and
``x.t().reshape(6)`` copies silently. Both first ask one question: do other strides show these
elements in this order? Answer it from sizes and strides alone.

    old (4, 6), strides (7, 1): rows of 6, with a gap after each

    last to first:      6 elements, step 1 | 4 elements, step 7     two chunks
    as (2, 2, 2, 3):    3 * 2              | 2 * 2                  strides (14, 7, 3, 1)
    as (3, 8):          8 crosses the border                 None

1. Merge old dims into evenly spaced chunks. When does the next outer dim continue a chunk?
2. Split the chunks among the new dims, also last to first. Each must be used up exactly.

An old dim of size 1 does not end a chunk. About 20 lines, using only ints.

Begin on paper: why is (2, 3) with strides (6, 2) one chunk, and with (4, 1) two?
Afterwards read ``computeStride_impl`` in PyTorch's ``aten/src/ATen/TensorUtils.cpp``.
"""

from __future__ import annotations

from math import prod


def view_strides(
    old_sizes: tuple[int, ...], old_strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the strides of a view of shape `new_sizes`, or None if it needs a copy.

    Sizes and strides are tuples of non-negative ints, and strides count elements; a -1 among the
    new sizes has already been resolved. Return a tuple with one stride for each new dim. No index
    uses the stride of a new dim of size 1: give it any stride of 0 or more. A scalar has no dims,
    (), but one element, and can become any number of dims of size 1.
    """
    if prod(old_sizes) != prod(new_sizes):
        raise ValueError(f"{old_sizes} and {new_sizes} do not have as many elements")
    if 0 in old_sizes:
        # Also given: without elements every view is possible.
        return old_strides if old_sizes == new_sizes else _row_major(new_sizes)
    # TODO: from here on there is at least one element. Find the chunks, then split them.
    raise NotImplementedError("view_strides")


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new tensor, in which a size of 0 counts as 1. Given."""
    return tuple(prod(max(size, 1) for size in sizes[dim + 1 :]) for dim in range(len(sizes)))
