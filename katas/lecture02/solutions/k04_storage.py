"""Work out how far a tensor reaches into its storage."""

from __future__ import annotations


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """Return the smallest number of elements that a storage needs to hold this tensor.

    Include the elements before the offset. Strides are 0 or more. For a tensor without elements,
    the answer is 0.
    """
    if 0 in sizes:
        return 0
    # No stride is negative, so the last index of every dim together reaches furthest.
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return offset + last + 1
