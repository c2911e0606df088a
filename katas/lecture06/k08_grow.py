"""Debug: the loader whose workers grow.

A list of a million captions, eight workers, and after an epoch the machine is out of memory, though
nobody wrote a thing. But Python writes when it looks at an object: the count of its references lies
in the object. A forked worker shares its pages with the trainer until one of them
writes; then it gets a copy of the page.

    before      trainer  [count|text] [count|text] ...      shared by all
    after       each worker has a copy of all pages that it has read

``ps`` hides it: RSS counts shared pages as well. PSS and private pages show it, and the tests read
both.

`Captions` is right in every answer, and grows. Mend it, about 12 lines: as few Python objects as
possible, so few large blocks of numbers. A tensor of bytes has one count.

- Keep what it answers: also empty text, other alphabets, negative indices, IndexError.

Begin on paper: "cat", "", "horse" in one row of bytes. Which numbers find the third?
Afterwards open ``torch/utils/data/dataset.py`` in site-packages: `TensorDataset` holds its samples
in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: F401 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Sequence


# TODO: mend the class. No NotImplementedError here: the code is written, and grows.


class Captions:
    """Pairs of a text and a number below 2 ** 63, as a dataset; what it is made of may change."""

    def __init__(self, texts: Sequence[str], labels: Sequence[int]) -> None:
        self.pairs = list(zip(texts, labels, strict=True))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[str, int]:
        """Return a text and its number; reading in a forked worker copies next to no pages."""
        return self.pairs[index]
