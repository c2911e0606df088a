"""Byte-pair encoding: where tokens come from.

Text becomes numbers before PyTorch sees it. A token is neither a letter nor a word: the most
frequent pair of neighbours becomes a token, again and again.

    a b a b a b c     the pair "a b" occurs three times: call it X
    X X X c           "X X" occurs twice: call it Y
    Y X c             no pair occurs twice: done

A model trained with one order of merges cannot read text encoded with another, so a rule breaks
ties. Write `merge` and `train`, about 13 lines; `encode` and `decode` are given.

Begin on paper: a a a a a. How often does "a a" occur, and what is left after merging it?
Afterwards, where the numbers go: ``Embedding`` in ``torch/nn/modules/sparse.py``, in site-packages.
Real life differs: text is first split into words, and counts are updated instead of recomputed.
"""

from __future__ import annotations

from collections import Counter


Pair = tuple[int, int]


def merge(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Return `tokens` with each neighbouring `pair` replaced by `new`, from left to right.

    A token belongs to at most one pair.
    """
    # TODO
    raise NotImplementedError("merge")


def train(data: bytes, count: int) -> list[Pair]:
    """Return up to `count` pairs in the order in which they are merged.

    Tokens start as bytes, and merge number k makes the token 256 + k. Always merge the most
    frequent pair of neighbours, counting overlapping pairs too; break a tie by the smallest pair.
    Stop early when no pair occurs twice.
    """
    # TODO: count the pairs, choose one, merge it.
    raise NotImplementedError("train")


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
