"""Work out which strides a new tensor gets, and when a tensor is contiguous.

Kernels that read a tensor as one flat array first ask whether it is contiguous. The transpose of a
(2, 3) tensor is not. This one is, despite its stride of 99:

    torch.arange(3).as_strided((1, 3), (99, 1)).is_contiguous()    # True

A row-major tensor has stride 1 in its last dim; in every other dim, a step skips a whole inner
block:

    sizes (3, 4, 5)      strides (20, 5, 1)

1. `contiguous_strides`: the strides of a new tensor. One surprise: ``torch.empty(2, 0, 3)``.
2. `is_contiguous`: are the elements adjacent, in that order? Which strides does no index ever use?

About 12 lines, using only ints. Begin on paper: the strides of sizes (4, 1, 2).
Afterwards open ``torch/include/c10/core/Contiguity.h`` in site-packages.
"""

from __future__ import annotations


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of a new tensor with these sizes, in elements.

    A size of 0 counts as 1 here. A scalar's sizes and strides are both ().
    """
    # TODO: go through the dims from the last to the first.
    raise NotImplementedError("contiguous_strides")


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements are adjacent in row-major order.

    A tensor without elements is contiguous, whatever its strides.
    """
    # TODO: compare with the strides of a new tensor, where strides matter.
    raise NotImplementedError("is_contiguous")
