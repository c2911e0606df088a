"""Byte-pair encoding: where tokens come from."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise


Pair = tuple[int, int]


def merge(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Return `tokens` with each neighbouring `pair` replaced by `new`, from left to right."""
    result: list[int] = []
    for token in tokens:
        if result and (result[-1], token) == pair:
            result[-1] = new
        else:
            result.append(token)
    return result


def train(data: bytes, count: int) -> list[Pair]:
    """Return up to `count` pairs in the order in which they are merged."""
    tokens = list(data)
    merges: list[Pair] = []
    while len(merges) < count:
        pairs = Counter(pairwise(tokens))
        pair = min(pairs, key=lambda each: (-pairs[each], each), default=None)
        if pair is None or pairs[pair] == 1:
            break
        tokens = merge(tokens, pair, 256 + len(merges))
        merges.append(pair)
    return merges


def encode(data: bytes, merges: list[Pair]) -> list[int]:
    """Return the tokens of `data`: all merges, in their order. Given."""
    tokens = list(data)
    for number, pair in enumerate(merges):
        tokens = merge(tokens, pair, 256 + number)
    return tokens


def decode(tokens: list[int], merges: list[Pair]) -> bytes:
    """Return the bytes of `tokens`. Given."""
    pieces = {token: bytes([token]) for token in range(256)}
    for number, (left, right) in enumerate(merges):
        pieces[256 + number] = pieces[left] + pieces[right]
    return b"".join(pieces[token] for token in tokens)
