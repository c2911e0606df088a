"""Sizes, strides and the storage: the arithmetic under every tensor."""

from __future__ import annotations


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of a new tensor with these sizes, in elements."""
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        # A stride of 0 would say that all elements share one place, so an empty dim counts as 1.
        step *= max(size, 1)
    return tuple(reversed(strides))


def offset_of(
    index: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    storage_offset: int = 0,
) -> int:
    """Return the position in the storage of the element at `index`.

    Raises
    ------
    IndexError
        If `index` has another length than `sizes`, or one of its entries is out of range.
    """
    if len(index) != len(sizes):
        raise IndexError(f"{len(index)} indices for {len(sizes)} dims")
    position = storage_offset
    for i, size, stride in zip(index, sizes, strides, strict=True):
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range for a dim of size {size}")
        position += (i % size) * stride
    return position


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements lie one after another in row-major order."""
    if 0 in sizes:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        # The only index of a dim of size 1 is 0: its stride is multiplied by nothing else.
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], storage_offset: int = 0) -> int:
    """Return the least number of elements that the storage of this window must have."""
    if 0 in sizes:
        return 0
    # No stride is negative, so the last index of every dim together reach furthest.
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return storage_offset + last + 1
