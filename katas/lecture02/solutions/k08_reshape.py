"""Can this reshape be a view? Compute its strides, or say that a copy is needed."""

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
    strides: list[int] = []
    left = list(new_sizes)
    for count, step in _chunks(old_sizes, old_strides):
        # Divide the chunk among the next new dims. Some are left, because the numbers of elements
        # agree.
        taken = 1
        while taken < count:
            strides.append(taken * step)
            taken *= left.pop()
        if taken != count:
            return None
    # The dims that are left have size 1, and no index uses their strides.
    return tuple(reversed([*strides, *left]))


def _chunks(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return each evenly spaced run of dims from the last to the first: elements and step."""
    chunks: list[tuple[int, int]] = []
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        # No index uses the stride of a dim of size 1, so it ends no chunk.
        if size == 1:
            continue
        if chunks:
            count, step = chunks[-1]
            if stride == count * step:
                chunks[-1] = (count * size, step)
                continue
        chunks.append((size, stride))
    return chunks


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new tensor, in which a size of 0 counts as 1. Given."""
    return tuple(prod(max(size, 1) for size in sizes[dim + 1 :]) for dim in range(len(sizes)))
