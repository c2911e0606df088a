"""Byte-pair merges without a loop over the tokens."""

from __future__ import annotations

import torch


def most_frequent(ids: torch.Tensor) -> tuple[int, int]:
    """Return the pair of neighbours that occurs most often.

    Overlapping pairs count too: `aaa` has two. In a tie, return the pair with the smallest left id,
    and then the smallest right. `ids` has at least two ids, int64, none negative.
    """
    size = int(ids.max()) + 1
    keys, counts = torch.unique(ids[:-1] * size + ids[1:], return_counts=True)
    left, right = divmod(int(keys[counts.argmax()]), size)
    return left, right


def merge(ids: torch.Tensor, pair: tuple[int, int], new: int) -> torch.Tensor:
    """Return ids with `new` in place of each pair, from left to right; `ids` may be empty."""
    match = (ids[:-1] == pair[0]) & (ids[1:] == pair[1])
    place = torch.arange(len(match))
    outside = torch.where(match, -1, place).cummax(0).values
    taken = match & ((place - outside) % 2 == 1)
    kept = torch.ones(len(ids), dtype=torch.bool)
    kept[1:] = ~taken
    merged = ids.clone()
    merged[:-1][taken] = new
    return merged[kept]


def encode(ids: torch.Tensor, merges: list[tuple[int, int]]) -> torch.Tensor:
    """Return the ids (int64) of these bytes after the merges, applied in order.

    Merge n creates the id 256 + n. `ids` may be uint8 or int64, and may be empty.
    """
    ids = ids.long()
    for number, pair in enumerate(merges):
        ids = merge(ids, pair, 256 + number)
    return ids


def train(ids: torch.Tensor, count: int) -> list[tuple[int, int]]:
    """Return the pairs of `count` merges, in order. Given."""
    merges: list[tuple[int, int]] = []
    while len(merges) < count and len(ids) > 1:
        pair = most_frequent(ids)
        ids = merge(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


def vocabulary(merges: list[tuple[int, int]]) -> list[bytes]:
    """Return the bytes of each id. Given."""
    words = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        words.append(words[left] + words[right])
    return words
