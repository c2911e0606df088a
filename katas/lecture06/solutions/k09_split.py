"""Split an iterable dataset over ranks and workers."""

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
        """Yield the lines of this worker's files, as `lines` does, file by file."""
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for path in self.paths[self.rank * workers + worker :: self.ranks * workers]:
            yield from lines(path)
