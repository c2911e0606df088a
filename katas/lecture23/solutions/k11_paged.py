"""Keys and values in pages, the way an operating system keeps memory."""

from __future__ import annotations

import heapq

import torch
from torch.nn.functional import scaled_dot_product_attention


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
        start = int(self.lengths[row])
        end = start + len(k)
        for place in range(-(-start // self.size), -(-end // self.size)):
            self.table[row, place] = self.take()
        tokens = torch.arange(start, end)
        pages, slots = self.table[row, tokens // self.size], tokens % self.size
        self.keys[pages, slots] = k
        self.values[pages, slots] = v
        self.lengths[row] = end

    def release(self, row: int) -> None:
        """Give back all pages of sequence `row`; it then has no tokens, and -1 in the table."""
        for page in self.table[row].tolist():
            if page >= 0:
                heapq.heappush(self.free, page)
        self.table[row] = -1
        self.lengths[row] = 0

    def attend(self, q: torch.Tensor) -> torch.Tensor:
        """Return what the query of each sequence, [sequences, heads, dim], reads, in that shape.

        The result of a sequence without tokens is 0.
        """
        pages = self.table.clamp(min=0)
        k, v = (x[pages].flatten(1, 2).transpose(1, 2) for x in (self.keys, self.values))
        mask = torch.arange(k.shape[2]) < self.lengths[:, None]
        return scaled_dot_product_attention(q[:, :, None], k, v, mask[:, None, None])[:, :, 0]
