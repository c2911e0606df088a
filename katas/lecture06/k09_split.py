"""Split an iterable dataset over ranks and workers.

A stream has no indices, so a sampler cannot split it. Each worker has a copy of the dataset, and
reads all of it:

    class Naive(IterableDataset):
        def __iter__(self): return iter(range(4))
    list(DataLoader(Naive(), batch_size=None, num_workers=2))    # 0 0 1 1 2 2 3 3, and no warning

The dataset itself has to find out which worker it is in: ask ``get_worker_info()``. Write
`Lines.__iter__`, about 6 lines.

Begin on paper: five files, two ranks, two workers each. Which worker opens file 4?
Afterwards open ``torch/utils/data/_utils/worker.py`` in site-packages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch.utils.data import IterableDataset
from torch.utils.data import get_worker_info


if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file. Given."""
    with Path(path).open(encoding="utf-8") as file:
        yield from file


class Lines(IterableDataset[str]):
    """The lines of many files, for one of several ranks."""

    def __init__(self, paths: list[Path], *, rank: int = 0, ranks: int = 1) -> None:
        self.paths, self.rank, self.ranks = paths, rank, ranks

    def __iter__(self) -> Iterator[str]:
        """Yield the lines of this worker's files, as `lines` does, file by file.

        Files are dealt out like cards: to worker 0 of rank 0, worker 1 of rank 0, and so on, then
        to the workers of rank 1. Only one worker opens a file. Without workers, the trainer's
        process counts as the only worker of its rank.
        """
        # TODO: which card of each round is mine, and how many cards make a round?
        raise NotImplementedError("Lines.__iter__")
