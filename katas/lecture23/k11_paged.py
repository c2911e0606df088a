"""Keys and values in pages, the way an operating system keeps memory.

A cache with room for the longest sequence wastes most of it on short ones. Paged attention splits
the memory into pages of a few tokens. A block table lists the pages of each sequence, in order, and
pages of a finished sequence are reused by the next one:

    pages of 2 tokens     0: a0 a1   1: b0 b1   2: a2 a3   3: b2 .    4: a4 .    5: . .

    block table           a: 0  2  4        lengths   a: 5
                          b: 1  3 -1                  b: 3

1. `append`: take pages as needed, then write all tokens at once. Token i is on page
   ``i // size`` of its sequence, in slot ``i % size``.
2. `release`: give the pages back.
3. `attend`: one query for each sequence; gather by the table, mask the rest, one call of
   ``F.scaled_dot_product_attention``. About 18 lines in all.

Begin on paper: which page and slot do b3 and b4 get? What does ``keys[-1]`` mean to
PyTorch?
Afterwards see ``PagedAttention`` in ``torch/nn/attention/experimental/_paged_attention.py``.
Real life differs: a fused kernel reads pages where they are, and gathers nothing.
"""

from __future__ import annotations

import heapq

import torch


class Pages:
    """Pages for several sequences: keys and values are [pages, size, heads, dim].

    `table` is int64 [sequences, pages], with -1 where a sequence has no page (yet); `lengths` is
    int64 [sequences]; `free` is a heap of free page numbers.
    """

    def __init__(self, sequences: int, pages: int, size: int, heads: int, dim: int) -> None:
        self.size = size
        self.keys = torch.zeros(pages, size, heads, dim, dtype=torch.float64)
        self.values = torch.zeros_like(self.keys)
        self.table = torch.full((sequences, pages), -1)
        self.lengths = torch.zeros(sequences, dtype=torch.int64)
        self.free = list(range(pages))

    def show(self) -> str:
        """Return a map of the pages as text: given."""
        owners = {
            page: (row, place)
            for row, pages in enumerate(self.table.tolist())
            for place, page in enumerate(pages)
            if page >= 0
        }
        lines = []
        for page in range(len(self.keys)):
            row, place = owners.get(page, (-1, 0))
            first = place * self.size
            tokens = [
                f"{chr(97 + row)}{i}" if row >= 0 and i < self.lengths[row] else "."
                for i in range(first, first + self.size)
            ]
            lines.append(f"{page}: {' '.join(tokens)}")
        return "\n".join(lines)

    def take(self) -> int:
        """Return the lowest free page, and mark it taken: given."""
        if not self.free:
            raise MemoryError("no page is free")
        return heapq.heappop(self.free)

    def append(self, row: int, k: torch.Tensor, v: torch.Tensor) -> None:
        """Add n tokens to sequence `row`: k and v are [n, heads, dim].

        Take a page when its first token arrives, not before. If pages run out, `take` raises, and
        the sequence may be left in any state.
        """
        # TODO: which pages are missing? Then, for each token, its page and its slot.
        raise NotImplementedError("Pages.append")

    def release(self, row: int) -> None:
        """Give back all pages of sequence `row`; it then has no tokens, and -1 in the table."""
        # TODO: heapq.heappush keeps `free` a heap.
        raise NotImplementedError("Pages.release")

    def attend(self, q: torch.Tensor) -> torch.Tensor:
        """Return what the query of each sequence, [sequences, heads, dim], reads, in that shape.

        The result of a sequence without tokens is 0.
        """
        # TODO: attention expects [sequences, heads, tokens, dim].
        raise NotImplementedError("Pages.attend")
