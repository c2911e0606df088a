"""Which samples a rank sees."""

from __future__ import annotations

from itertools import cycle
from itertools import islice
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
        """Yield this rank's indices as Python ints; every rank gets the same number of them."""
        order = list(range(self.count))
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed + self.epoch)
            order = torch.randperm(self.count, generator=generator).tolist()
        steps = self.count // self.ranks
        if not self.drop_last:
            steps = -(-self.count // self.ranks)
        return islice(cycle(order), self.rank, steps * self.ranks, self.ranks)


def batches(indices: Iterable[int], size: int, *, drop_last: bool = False) -> Iterator[list[int]]:
    """Yield lists of `size` indices, each as soon as it is full; the last one may be shorter."""
    batch: list[int] = []
    for index in indices:
        batch.append(index)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch
