"""Perf: one read where there were sixty-four.

Your samples lie in one file, and each costs a read of its own: over a network, a round trip. The
loader knows all indices of a batch, and it will tell you if you ask:

    class Records(Dataset):
        def __getitems__(self, indices): ...     # found by DataLoader, called for a whole batch

Write `Records.__getitems__`, about 8 lines: one read for each run of neighbours.

Begin on paper: the indices 7 3 4 4 5. Which reads, and in which order do samples go back?
Afterwards find the call in ``torch/utils/data/_utils/fetch.py``, in site-packages.
"""

from __future__ import annotations

from itertools import groupby  # noqa: F401 - it may help
from typing import Protocol


class File(Protocol):
    """A file far away."""

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset` on, in one round trip."""


class Records:
    """Samples of `size` bytes, one after the other in `file`; there are `count`."""

    def __init__(self, file: File, count: int, size: int) -> None:
        self.file, self.count, self.size = file, count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> bytes:
        """Return one sample, by one read. Given."""
        return self.file.read(index * self.size, self.size)

    def __getitems__(self, indices: list[int]) -> list[bytes]:
        """Return the samples at `indices`, in their order; an index may come several times.

        Indices that follow one another, in any order, share a read, which takes nothing else.
        """
        # TODO: sort, find the runs, read, cut.
        raise NotImplementedError("Records.__getitems__")
