"""Debug: the loader whose workers grow.

A list of a million captions, eight workers, and after an epoch the machine is out of memory, though
nobody wrote anything. But Python writes when it reads: every object holds its own reference count.
A forked worker shares its pages with the trainer until one of the two writes; then that page is
copied.

    before      trainer  [count|text] [count|text] ...      shared by all
    after       each worker has a copy of all pages that it has read

``ps`` hides it: RSS counts shared pages as well. PSS and private pages show it, and the tests read
both.

`Captions` returns the right answers, but grows. Fix it, about 12 lines: use as few Python objects
as possible, that is a few large blocks of numbers. A tensor of bytes has a single reference count.

- Keep its answers, including empty text, other alphabets, negative indices and IndexError.

Begin on paper: "cat", "", "horse" in one block of bytes. Which numbers locate the third?
Afterwards open ``torch/utils/data/dataset.py`` in site-packages: `TensorDataset` holds its samples
this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence


# TODO: fix the class. It raises no NotImplementedError: the code works, but grows.


class Captions:
    """A dataset of texts, each with a number below 2 ** 63; change what it stores as you like."""

    def __init__(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        self.pairs = list(zip(texts, labels, strict=True))

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[str, int]:
        """Return a text and its number; in a forked worker, reading must copy next to no pages."""
        return self.pairs[index]
