"""Six stride bugs in five functions: find and fix them.

    table = template.expand(3, -1)
    table[0, 1] = 1                  # and now every row has a 1, and so has the template

The code is complete, and it mostly works on new row-major tensors. It fails, usually silently,
on slices and transposes, and where somebody mistook a view for a copy or a copy for a view. Nothing
raises NotImplementedError: run the tests, read the failures, and ask where the elements are.
`windows` has two bugs. Each bug takes one line to fix.

Begin with `marked`: print the strides of its table.
Afterwards read ``as_strided_tensorimpl`` in PyTorch's ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

import torch


# TODO: there are six bugs below, at least one in each function.
def marked(template: torch.Tensor, places: list[int]) -> torch.Tensor:
    """Return a table with one copy of the 1-D `template` per place, and a 1 at that place."""
    table = template.expand(len(places), -1)
    for row, place in enumerate(places):
        table[row, place] = 1
    return table


def clear_columns_(matrix: torch.Tensor, count: int) -> torch.Tensor:
    """Set the first `count` columns to 0, in place, and return the matrix itself."""
    # The first columns are the start of the flattened transpose.
    matrix.t().reshape(-1)[: count * len(matrix)].zero_()
    return matrix


def windows(signal: torch.Tensor, size: int) -> torch.Tensor:
    """Return all runs of `size` neighbours in a 1-D signal, as a view without a copy."""
    count = len(signal) - size + 1
    return signal.as_strided((count, size), (1, 1), 0)


def peak(matrix: torch.Tensor) -> tuple[int, int]:
    """Return the row and column of the largest element.

    ``argmax`` numbers elements in the order of their indices, wherever they are in memory.
    """
    place = int(matrix.argmax())
    return divmod(place, matrix.stride(0))


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two tensors, neither empty, share a storage, at any offset."""
    return a.data_ptr() == b.data_ptr()
