"""Work out which strides a new tensor gets, and when a tensor is contiguous.

Kernels that read a tensor as one row ask first: is it contiguous? The transpose of a (2, 3) tensor
is not. This is, stride 99 and all:

    torch.arange(3).as_strided((1, 3), (99, 1)).is_contiguous()    # True

A row-major tensor steps 1 in its last dim, and over a whole inner block in each other one:

    sizes (3, 4, 5)      strides (20, 5, 1)

1. `contiguous_strides`: the strides of a new tensor. One surprise: ``torch.empty(2, 0, 3)``.
2. `is_contiguous`: do the elements lie one after another, in that order? Which strides does no
   index ever use?

About 12 lines, on ints alone. Begin on paper: the strides of sizes (4, 1, 2).
Afterwards open ``torch/include/c10/core/Contiguity.h`` in site-packages.
"""

from __future__ import annotations


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of a new tensor with these sizes, in elements.

    A size of 0 counts as 1 here. A scalar has no sizes and no strides: both are ().
    """
    # TODO: walk the dims from the last to the first.
    raise NotImplementedError("contiguous_strides")


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements lie one after another in row-major order.

    A tensor without elements is contiguous, whatever its strides.
    """
    # TODO: compare with the strides of a new tensor, where they matter.
    raise NotImplementedError("is_contiguous")
