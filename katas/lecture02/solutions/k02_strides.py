"""Work out which strides a new tensor gets, and when a tensor is contiguous."""

from __future__ import annotations


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of a new tensor with these sizes, in elements.

    A size of 0 counts as 1 here. A scalar's sizes and strides are both ().
    """
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        # A stride of 0 would mean that all elements share one place, so an empty dim counts as 1.
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements are adjacent in row-major order.

    A tensor without elements is contiguous, whatever its strides.
    """
    if 0 in sizes:
        return True
    # The only index of a dim of size 1 is 0, so its stride is only ever multiplied by 0.
    dims = zip(sizes, strides, contiguous_strides(sizes), strict=True)
    return all(size == 1 or stride == dense for size, stride, dense in dims)
