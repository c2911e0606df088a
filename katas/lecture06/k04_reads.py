"""Perf: one read instead of sixty-four.

Your samples are in one file, and each costs a read of its own: over a network, a round trip. The
loader knows all indices of a batch, and passes them on if you ask:

    class Records(Dataset):
        def __getitems__(self, indices): ...     # DataLoader finds it, and calls it once per batch

Write `Records.__getitems__`, about 8 lines: one read for each run of neighbours.

Begin on paper: the indices 7 3 4 4 5. Which reads are needed, and in which order do you return the
samples?
Afterwards find the call in ``torch/utils/data/_utils/fetch.py``, in site-packages.
"""

from __future__ import annotations

from itertools import groupby
from typing import Protocol


class File(Protocol):
    """A remote file."""

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes, starting at `offset`, in one round trip."""


class Records:
    """`count` samples of `size` bytes each, one after the other in `file`."""

    def __init__(self, file: File, count: int, size: int) -> None:
        self.file, self.count, self.size = file, count, size

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> bytes:
        """Return one sample, with one read. Given."""
        return self.file.read(index * self.size, self.size)

    def __getitems__(self, indices: list[int]) -> list[bytes]:
        """Return the samples at `indices`, in their order; an index may occur several times.

        Consecutive indices share one read, in whatever order they are listed. Do not read bytes
        that nobody asked for.
        """
        # TODO: sort the indices, find the runs, read each run, split it into samples.
        raise NotImplementedError("Records.__getitems__")
