"""A replay buffer that survives the process.

An agent learns from a million past rows, and a list of a million small tensors is slow, and lost in
a crash. A buffer reserves one storage instead, and every field is a tensor that views it:

    storage  | count | . . . . . | . . . . . | . . . . . |        capacity 5
               int64   state       action      done
                       float32 [5, 2]          bool [5]

    after row 0 to row 7, slots hold rows  5 6 7 3 4              row i is in slot i % 5

With a file as its storage, each write goes to the file, even the count's: a second process that
opens the file finds all rows.

1. `reserve`: the storage.
2. ``__init__``: the views, with ``Tensor.set_(storage, offset, size)``.
3. `extend`, `sample`, `by_age`. About 20 lines.

- No loop over rows, and no slot twice in one write: PyTorch does not define which value stays.

Begin on paper: eight rows arrive at once in an empty buffer of five. Which go where?
Afterwards read ``set_`` in ``torch/_tensor_docs.py``, in site-packages. Real life differs: in
TorchRL's ``LazyMemmapStorage`` each field has a file of its own.
"""

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
    """Return the byte at which each field begins, a multiple of 8, and the total size in bytes."""
    starts, end = {"count": 0}, ALIGN
    for name, (dtype, shape) in layout.items():
        starts[name] = end
        end += capacity * math.prod(shape) * dtype.itemsize
        end += -end % ALIGN
    return starts, end


# The exercise.
def reserve(nbytes: int, path: Path | None) -> torch.UntypedStorage:
    """Return a storage of zeros, or one mapped to the file, which is created if it is missing."""
    # TODO: torch.UntypedStorage, and its from_file.
    raise NotImplementedError("reserve")


class Replay:
    """Keeps the last `capacity` rows; a row has a tensor for each name in the layout."""

    def __init__(self, capacity: int, layout: Layout, path: Path | None = None) -> None:
        self.capacity = capacity
        # TODO: `plan`, then `reserve`. Then self.count, int64 of [1]: how many rows ever came. And
        # self.fields, a dict: for each name a tensor [capacity, *shape]. An offset counts elements,
        # and a start counts bytes.
        raise NotImplementedError("Replay.__init__")

    def __len__(self) -> int:
        """Return the number of rows in the buffer."""
        return min(int(self.count), self.capacity)

    def extend(self, rows: Mapping[str, torch.Tensor]) -> None:
        """Append a batch of rows, as if one by one; row number i goes to slot i % capacity.

        A batch may be empty, or have more rows than the buffer; `rows` may require gradients, and
        the buffer does not.
        """
        # TODO
        raise NotImplementedError("Replay.extend")

    def sample(self, size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Return a batch of rows, drawn from the rows in the buffer with replacement.

        All rows are equally likely, and each is drawn independently of the others, by the generator
        alone. A later `extend` changes no batch.
        """
        # TODO
        raise NotImplementedError("Replay.sample")

    def by_age(self) -> dict[str, torch.Tensor]:
        """Return a copy of all rows in the buffer, oldest first."""
        # TODO
        raise NotImplementedError("Replay.by_age")
