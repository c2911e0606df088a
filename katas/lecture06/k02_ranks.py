"""Which samples a rank sees.

Four ranks, ten samples. Every rank has to make the same number of steps, or the last collective
waits forever. So some samples are seen twice:

    order, padded   7 2 9 0 | 4 1 8 3 | 5 6 7 2       7 and 2 are repeated
    rank 0          7         4         5
    rank 1            2         1         6

An accuracy computed over all ranks counts 7 and 2 twice. And without ``set_epoch`` every epoch
repeats the order of the first.

Write two pieces, about 14 lines:

1. `RankSampler.__iter__`: the order, its length, and this rank's part of it.
2. `batches`: lists of indices; decide what to do with a short last one.

- Leave the global generator alone: the ranks agree because they share a seed of their own.

Begin on paper: two samples and five ranks. What does rank 4 see?
Afterwards open ``torch/utils/data/distributed.py`` in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


class RankSampler:
    """The indices from ``range(count)`` that one of several ranks visits."""

    def __init__(
        self,
        count: int,
        ranks: int,
        rank: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
    ) -> None:
        if not 0 <= rank < ranks:
            raise ValueError(f"rank {rank} is not one of {ranks}")
        self.count, self.ranks, self.rank = count, ranks, rank
        self.seed, self.shuffle, self.drop_last = seed, shuffle, drop_last
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch; the training loop calls this. Given."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Yield this rank's indices as Python ints; every rank gets the same number of them.

        - The order is ``range(count)``, or with `shuffle` what ``torch.randperm`` returns for a new
          generator with seed ``seed + epoch``.
        - Make its length a multiple of `ranks`: with `drop_last` drop the end,
          otherwise repeat the order from its beginning as often as needed. Without samples, yield
          nothing.
        - Rank r takes positions r, r + ranks, r + 2 * ranks, and so on.
        """
        # TODO: first the order, then its length, then this rank's part.
        raise NotImplementedError("RankSampler.__iter__")


def batches(indices: Iterable[int], size: int, *, drop_last: bool = False) -> Iterator[list[int]]:
    """Yield lists of `size` indices, each as soon as it is full; the last one may be shorter.

    With `drop_last`, drop a shorter last one. `indices` may be endless and may have no length.
    """
    # TODO: collect indices, and yield the list when it is full.
    raise NotImplementedError("batches")
