"""Which samples a rank sees.

Four ranks, ten samples, and each rank has to make as many steps as the others, or the last
collective waits forever. So someone has to see a sample twice:

    order, padded   7 2 9 0 | 4 1 8 3 | 5 6 7 2       7 and 2 come again
    rank 0          7         4         5
    rank 1            2         1         6

An accuracy over all ranks counts 7 and 2 twice. And without ``set_epoch`` the order of each epoch
is that of the first.

Write two pieces, about 14 lines:

1. `RankSampler.__iter__`: order, length, own part.
2. `batches`: lists of indices, and what to do with the last.

- Leave the global generator alone: a seed of your own is what makes the ranks agree.

Begin on paper: two samples and five ranks. What does rank 4 see?
Afterwards open ``torch/utils/data/distributed.py`` in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


class RankSampler:
    """The indices that one of several ranks visits, of ``range(count)``."""

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
        """Say which epoch comes next; the training loop calls it. Given."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """Return this rank's indices, as Python ints; all ranks have as many.

        - The order is ``range(count)``, or what ``torch.randperm`` gives for a new generator with
          the seed ``seed + epoch``.
        - Its length becomes a multiple of `ranks`: with `drop_last` its end is cut off, else it is
          repeated from its beginning, as often as it takes. No samples, no indices.
        - Rank r takes positions r, r + ranks, r + 2 * ranks, and so on.
        """
        # TODO: the order first, then the length, then the part.
        raise NotImplementedError("RankSampler.__iter__")


def batches(indices: Iterable[int], size: int, *, drop_last: bool = False) -> Iterator[list[int]]:
    """Yield lists of `size` indices, each as soon as it is full; the last one may be shorter.

    With `drop_last` a shorter one is left out. `indices` may have no end and no length.
    """
    # TODO: collect, and give away when full.
    raise NotImplementedError("batches")
