"""Byte-pair merges without a loop over the tokens."""

from __future__ import annotations

import torch


def most_frequent(ids: torch.Tensor) -> tuple[int, int]:
    """Return the pair of neighbours that is there most often.

    Overlapping pairs count too: `aaa` has two. In a tie, return the pair with the smallest left id,
    and then the smallest right. `ids` has at least two ids, int64, none negative.
    """
    pairs, counts = torch.stack([ids[:-1], ids[1:]], 1).unique(dim=0, return_counts=True)
    left, right = pairs[counts == counts.max()][0]
    return int(left), int(right)


def merge(ids: torch.Tensor, pair: tuple[int, int], new: int) -> torch.Tensor:
    """Return ids with `new` in place of each pair, from left to right; `ids` may be empty."""
    match = torch.zeros(len(ids), dtype=torch.bool)
    match[:-1] = (ids[:-1] == pair[0]) & (ids[1:] == pair[1])
    seen = match.cumsum(0)
    before = (seen * ~match).cummax(0).values if len(ids) else seen
    left = match & ((seen - before) % 2 == 1)
    return torch.where(left, new, ids)[~left.roll(1)]


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
