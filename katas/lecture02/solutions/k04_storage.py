"""Say how far a tensor reaches into its storage."""

from __future__ import annotations


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """Return how many elements a storage needs at least, to hold every element of this tensor.

    What lies before the offset counts. Strides are 0 or more. Without elements, 0 will do.
    """
    if 0 in sizes:
        return 0
    # No stride is negative, so the last index of every dim together reach furthest.
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return offset + last + 1
