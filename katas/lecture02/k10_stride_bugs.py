"""Six stride bugs in five functions: find and mend them.

All this code is written, and it works as long as strides and storage offset are what its author
had in mind. It fails, mostly in silence, on others, and where a view was made for a copy or a copy
for a view. (Nothing raises NotImplementedError here: run the tests, read what came out, and ask
where the elements are.)

1. ``marked(template, places)``: a table with one row for each int in `places`; each row is a copy
   of `template` (1-D) with a 1 at its place. The template stays as it is.
2. ``clear_columns_(matrix, count)``: set the first `count` columns of a matrix to 0, in place.
   Returns the matrix itself.
3. ``windows(signal, size)``: all stretches of `size` neighbours of a 1-D signal, as a view of
   shape (length - size + 1, size), without a copy, for a signal of any stride and storage
   offset. There are two bugs in it.
4. ``peak(matrix)``: row and column of the largest element, as two ints (``argmax`` counts
   elements in the order in which they are indexed, wherever they are in memory). Works for any
   strides.
5. ``same_storage(a, b)``: whether two tensors look at the same storage, at whatever part of it.
   Both have elements.

Each bug takes one line to mend. In PyTorch: ``aten/src/ATen/native/TensorShape.cpp``
(``expand``, ``reshape``, ``as_strided_tensorimpl``), ``c10/core/TensorImpl.h`` (``data_ptr_impl``:
where the storage offset comes in).
"""

from __future__ import annotations

import torch  # noqa: TC002 - you may want to call it


# TODO: six bugs stand below, at least one in each function.
def marked(template: torch.Tensor, places: list[int]) -> torch.Tensor:
    """Return one copy of `template` per place, with a 1 there."""
    table = template.expand(len(places), -1)
    for row, place in enumerate(places):
        table[row, place] = 1
    return table


def clear_columns_(matrix: torch.Tensor, count: int) -> torch.Tensor:
    """Set the first `count` columns to 0, in place, and return the matrix."""
    # Column by column, the first ones are the start of the transpose.
    matrix.t().reshape(-1)[: count * len(matrix)].zero_()
    return matrix


def windows(signal: torch.Tensor, size: int) -> torch.Tensor:
    """Return all stretches of `size` neighbours, as a view."""
    count = len(signal) - size + 1
    return signal.as_strided((count, size), (1, 1), 0)


def peak(matrix: torch.Tensor) -> tuple[int, int]:
    """Return row and column of the largest element."""
    place = int(matrix.argmax())
    return divmod(place, matrix.stride(0))


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether `a` and `b` look at the same storage."""
    return a.data_ptr() == b.data_ptr()
