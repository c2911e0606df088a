"""Perf: one read instead of sixty-four."""

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
        """Return the samples at `indices`, in their order; an index may occur several times."""
        found: dict[int, bytes] = {}
        # Within a run, index and place grow together: their difference names the run.
        for _, run in groupby(enumerate(sorted(set(indices))), key=lambda pair: pair[1] - pair[0]):
            rows = [index for _, index in run]
            block = self.file.read(rows[0] * self.size, len(rows) * self.size)
            for place, row in enumerate(rows):
                found[row] = block[place * self.size : (place + 1) * self.size]
        return [found[index] for index in indices]
