"""A key/value cache that does not copy itself for each token: both in one storage."""

from __future__ import annotations

import torch


class Cache:
    """Keys and values of one layer, [batch, heads, tokens, dim]; `room` is the initial capacity."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.length = 0
        self.store: torch.Tensor | None = None
        self.dirty = False

    def append(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add n tokens, [batch, heads, n, dim] each, and return all keys, and all values."""
        end = self.length + k.size(2)
        fits = end <= self.room
        while self.room < end:
            self.room *= 2
        with torch.no_grad():
            if self.store is None or self.dirty or not fits:
                old = self.store
                self.store = k.new_zeros(2, *k.shape[:2], self.room, k.size(3))
                if old is not None:
                    self.store[..., : self.length, :] = old[..., : self.length, :]
                self.dirty = False
            self.store[0].narrow(2, self.length, k.size(2)).copy_(k)
            self.store[1].narrow(2, self.length, k.size(2)).copy_(v)
        self.length = end
        return self.store[0, :, :, :end], self.store[1, :, :, :end]

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens alone."""
        self.dirty = self.dirty or length < self.length
        self.length = length
