"""A key/value cache that does not copy itself for each token."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


class Cache:
    """Keys and values of one layer, [batch, heads, tokens, dim]; `room` is the initial capacity."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.length = 0
        self.shown = 0
        self.kept: list[torch.Tensor] = []

    def append(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add n tokens, [batch, heads, n, dim] each, and return all keys, and all values.

        n is 1 or more. The results are views of the cache. They have no graph, and they never
        change. If there is too little room, double it until there is enough. Never write to a slot
        that was handed out: move to a new storage with the same room instead. If both apply, move
        once, to the doubled room.
        """
        start, end = self.length, self.length + k.shape[2]
        if not self.kept or end > self.room or start < self.shown:
            while end > self.room:
                self.room *= 2
            old, sizes = self.kept, (*k.shape[:2], self.room, k.shape[3])
            self.kept = [x.new_empty(sizes) for x in (k, v)]
            for x, before in zip(self.kept, old, strict=False):
                x[:, :, :start] = before[:, :, :start]
        for x, new in zip(self.kept, (k, v), strict=True):
            x[:, :, start:end] = new.detach()
        self.length = self.shown = end
        keys, values = (x[:, :, :end] for x in self.kept)
        return keys, values

    def crop(self, length: int) -> None:
        """Keep only the first `length` tokens. Allocate nothing."""
        self.length = length
