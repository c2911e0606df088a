"""A key/value cache that does not copy itself for each token.

A decoder keeps the keys and values of all tokens so far. With ``torch.cat`` each new token copies
them all: a thousand tokens cost half a million copies. Leave room instead, and write there:

    grown by cat   a | a b | a b c | a b c d | a b c d e              15 tokens allocated
    with room      a . . .                   | a b c d e . . .        12 tokens allocated
                   a b . .   views of one
                   a b c .   storage

A caller may keep the keys: what `append` returned must never change. Writing past the end of a view
is harmless. But `crop` takes tokens back, as speculative decoding does with a wrong guess, and then
the next token's slot may be part of a view that someone still reads.

1. `append`: write in place if you may, otherwise into a new storage with the old tokens in front.
2. `crop`: forget the last tokens. About 18 lines in all.

Begin on paper: append 3 tokens, crop to 1, append 1. Which slots were handed out, and which one
is written?
Afterwards see ``StaticCache`` of Transformers, and `narrow` in ``torch/_torch_docs.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


class Cache:
    """Keys and values of one layer, [batch, heads, tokens, dim]; `room` is the initial capacity."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.length = 0
        # TODO: what else do you keep? Nothing can be allocated yet: the shapes are unknown.

    def append(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add n tokens, [batch, heads, n, dim] each, and return all keys, and all values.

        n is 1 or more. The results are views of the cache. They have no graph, and they never
        change. If there is too little room, double it until there is enough. Never write to a slot
        that was handed out: move to a new storage with the same room instead. If both apply, move
        once, to the doubled room.
        """
        # TODO: is there room, and was the slot handed out?
        raise NotImplementedError("Cache.append")

    def crop(self, length: int) -> None:
        """Keep only the first `length` tokens. Allocate nothing."""
        # TODO: views that were handed out still show the rest.
        raise NotImplementedError("Cache.crop")
