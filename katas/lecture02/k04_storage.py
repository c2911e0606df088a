"""Work out how far a tensor reaches into its storage.

You save one row, a thousand numbers, and the file is four megabytes:

    big = torch.zeros(1000, 1000)
    torch.save(big[:1], "row.pt")      # try big[:1].clone(), too

A tensor is a window on a storage, and `torch.save` writes storages. Now turn the question round:
how small can the storage be? Write `storage_size`, about 4 lines.

Begin on paper: where is the last element of sizes (2, 3), strides (10, 2)?
Afterwards: `computeStorageNbytes` in ``aten/src/ATen/EmptyTensor.cpp``.
"""

from __future__ import annotations


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """Return the smallest number of elements that a storage needs to hold this tensor.

    Include the elements before the offset. Strides are 0 or more. For a tensor without elements,
    the answer is 0.
    """
    # TODO: which index reaches furthest?
    raise NotImplementedError("storage_size")
