"""Debug: the loader whose workers grow."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


class Captions:
    """A dataset of texts, each with a number below 2 ** 63; change what it stores as you like."""

    def __init__(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        encoded = [text.encode() for text in texts]
        self.data = b"".join(encoded)
        self.ends = torch.tensor([0, *accumulate(map(len, encoded))])
        self.labels = torch.tensor(labels, dtype=torch.int64)

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[str, int]:
        """Return a text and its number; in a forked worker, reading must copy next to no pages."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"{index} is not among {len(self)}")
        place = index % len(self)
        start, end = self.ends[place : place + 2].tolist()
        return self.data[start:end].decode(), int(self.labels[place])
