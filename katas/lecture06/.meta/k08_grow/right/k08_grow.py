"""Captions in arrays of NumPy: bytes, lengths and where each begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Sequence


class Captions:
    """Pairs of a text and a number below 2 ** 63, as a dataset; what it is made of may change."""

    def __init__(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        encoded = [text.encode() for text in texts]
        self.data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.lengths = np.array([len(each) for each in encoded], dtype=np.int64)
        self.begins = np.cumsum(self.lengths) - self.lengths
        self.labels = np.array(labels, dtype=np.int64)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.lengths)

    def __getitem__(self, index: int) -> tuple[str, int]:
        """Return a text and its number."""
        begin = self.begins[index]
        text = self.data[begin : begin + self.lengths[index]].tobytes().decode()
        return text, int(self.labels[index])
