"""Six stride bugs in five functions: find and fix them."""

from __future__ import annotations

import torch


def marked(template: torch.Tensor, places: list[int]) -> torch.Tensor:
    """Return a table with one copy of the 1-D `template` per place, and a 1 at that place."""
    # All rows of an expanded tensor are the same row: a write to one is a write to all.
    table = template.repeat(len(places), 1)
    for row, place in enumerate(places):
        table[row, place] = 1
    return table


def clear_columns_(matrix: torch.Tensor, count: int) -> torch.Tensor:
    """Set the first `count` columns to 0, in place, and return the matrix itself."""
    # A reshape of the transpose may be a copy; a slice never is.
    matrix[:, :count].zero_()
    return matrix


def windows(signal: torch.Tensor, size: int) -> torch.Tensor:
    """Return all runs of `size` neighbours in a 1-D signal, as a view without a copy."""
    count = len(signal) - size + 1
    # Neighbours are a stride apart, and the first element is at the signal's own offset.
    (step,) = signal.stride()
    return signal.as_strided((count, size), (step, step), signal.storage_offset())


def peak(matrix: torch.Tensor) -> tuple[int, int]:
    """Return the row and column of the largest element.

    ``argmax`` numbers elements in the order of their indices, wherever they are in memory.
    """
    place = int(matrix.argmax())
    # argmax numbers elements in index order: a row has as many as there are columns.
    return divmod(place, matrix.shape[1])


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two tensors, neither empty, share a storage, at any offset."""
    # A tensor's data_ptr points to its first element, offset included.
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
