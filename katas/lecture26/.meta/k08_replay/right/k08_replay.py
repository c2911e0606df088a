"""A replay buffer in one storage, in memory or in a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Layout = dict[str, tuple[torch.dtype, tuple[int, ...]]]
ALIGN = 8


# Given: do not change.
def plan(capacity: int, layout: Layout) -> tuple[dict[str, int], int]:
    """Return the byte at which each field begins, a multiple of 8, and the bytes of all."""
    starts, end = {"count": 0}, ALIGN
    for name, (dtype, shape) in layout.items():
        starts[name] = end
        end += capacity * math.prod(shape) * dtype.itemsize
        end += -end % ALIGN
    return starts, end


# The exercise.
def reserve(nbytes: int, path: Path | None) -> torch.UntypedStorage:
    """Return a storage of zeros, or one mapped to the file, which is created if it is missing."""
    if path is None:
        return torch.UntypedStorage(nbytes).fill_(0)
    return torch.UntypedStorage.from_file(str(path), shared=True, nbytes=nbytes)


class Replay:
    """The last `capacity` rows; a row has a tensor of each name in the layout."""

    def __init__(self, capacity: int, layout: Layout, path: Path | None = None) -> None:
        self.capacity = capacity
        starts, nbytes = plan(capacity, layout)
        storage = reserve(nbytes, path)
        self.count = torch.empty(0, dtype=torch.int64).set_(storage, 0, (1,))
        self.fields = {
            name: torch.empty(0, dtype=dtype).set_(
                storage, starts[name] // dtype.itemsize, (capacity, *shape)
            )
            for name, (dtype, shape) in layout.items()
        }

    def __len__(self) -> int:
        """Return the number of rows in the buffer."""
        return min(int(self.count), self.capacity)

    def extend(self, rows: Mapping[str, torch.Tensor]) -> None:
        """Append a batch of rows, as if one by one; row number i goes to slot i % capacity."""
        for name, field in self.fields.items():
            values = rows[name]
            size = len(values)
            skipped = max(0, size - self.capacity)
            first = (int(self.count) + skipped) % self.capacity
            with torch.no_grad():
                front = values[skipped:][: self.capacity - first]
                field.narrow(0, first, len(front)).copy_(front)
                back = values[skipped + len(front) :]
                field.narrow(0, 0, len(back)).copy_(back)
        self.count.add_(size)

    def sample(self, size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Return a batch of rows, each drawn from the rows it holds, with replacement."""
        slots = torch.randint(len(self), (size,), generator=generator)
        return {name: field[slots] for name, field in self.fields.items()}

    def by_age(self) -> dict[str, torch.Tensor]:
        """Return a copy of all rows in the buffer, oldest first."""
        if len(self) < self.capacity:
            return {name: field[: len(self)].clone() for name, field in self.fields.items()}
        return {name: field.roll(-int(self.count), 0) for name, field in self.fields.items()}
