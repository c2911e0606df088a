"""Say how far a tensor reaches into its storage.

You save one row, a thousand numbers, and the file has four megabytes:

    big = torch.zeros(1000, 1000)
    torch.save(big[:1], "row.pt")      # try big[:1].clone(), too

A tensor is a window on a storage, and `torch.save` writes storages. Now the other way: how small
may a storage be? Write `storage_size`, about 4 lines.

Begin on paper: where does the last element of sizes (2, 3), strides (10, 2) lie?
Afterwards: `computeStorageNbytes` in ``aten/src/ATen/EmptyTensor.cpp``.
"""

from __future__ import annotations


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """Return how many elements a storage needs at least, to hold every element of this tensor.

    What lies before the offset counts. Strides are 0 or more. Without elements, 0 will do.
    """
    # TODO: which index reaches furthest?
    raise NotImplementedError("storage_size")
