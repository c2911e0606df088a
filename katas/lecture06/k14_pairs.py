"""Byte-pair encoding: where tokens come from.

Text becomes numbers before PyTorch sees it. Not letters, not words: what stood side by side most
often, again and again.

    a b a b a b c     the pair "a b" stands there three times: call it X
    X X X c           "X X" stands there two times: call it Y
    Y X c             no pair twice: done

A model trained with one order of merges reads nonsense through another, so ties are decided by a
rule. Write `merge` and `train`, about 13 lines; `encode` and `decode` are given.

Begin on paper: a a a a a. How often does "a a" stand there, and what is left when it is merged?
Afterwards, where the numbers go: ``Embedding`` in ``torch/nn/modules/sparse.py``, in site-packages.
Real life differs: text is cut into words first, and counts are reused, not made anew.
"""

from __future__ import annotations

from collections import Counter  # noqa: F401 - it may help


Pair = tuple[int, int]


def merge(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Return `tokens` with `new` in place of each `pair` of neighbours, from left to right.

    A token belongs to one pair at most.
    """
    # TODO
    raise NotImplementedError("merge")


def train(data: bytes, count: int) -> list[Pair]:
    """Return up to `count` pairs in the order in which they are merged.

    Tokens are bytes at first, and merge number k makes the token 256 + k. Each time it is the pair
    that most neighbours form, also where they overlap; of several, the smallest pair. It ends
    before `count` when no pair is there twice.
    """
    # TODO: count, choose, merge.
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
