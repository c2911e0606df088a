"""Byte-pair merges without a loop over the tokens.

A tokenizer begins with bytes and gives the most frequent pair of neighbours a new id,
again and again. "ababcab" is 97 98 97 98 99 97 98, and

    pair (97, 98), three times, becomes 256:      256 256 99 256
    pair (256, 256), once, becomes 257:           257 99 256

A loop visits token after token. Written as a few operators on all tokens at once, a merge raises a
question that a loop avoids: in `aaa` the pair (a, a) occurs twice, and only one can be merged.

1. `most_frequent`: count all pairs at once.
2. `merge`: tokens merge from left to right, `aaa` to `X a`.
3. `encode`: new text, with merges learned before. About 20 lines in all.

`train` and `vocabulary` are given. Do not call ``tolist`` or ``numpy``.

Begin on paper: for `aaaa b aaa`, which positions match (a, a), and which are merged?
Afterwards see ``unique`` in ``torch/functional.py``, in site-packages. Real life differs: text is
first split into words, and no merge crosses a split.
"""

from __future__ import annotations

import torch


def most_frequent(ids: torch.Tensor) -> tuple[int, int]:
    """Return the pair of neighbours that occurs most often.

    Overlapping pairs count too: `aaa` has two. In a tie, return the pair with the smallest left id,
    and then the smallest right. `ids` has at least two ids, int64, none negative.
    """
    # TODO: compute one number from each pair.
    raise NotImplementedError("most_frequent")


def merge(ids: torch.Tensor, pair: tuple[int, int], new: int) -> torch.Tensor:
    """Return ids with `new` in place of each pair, from left to right; `ids` may be empty."""
    # TODO: which matches of a run of matches are merged? See `torch.cummax`.
    raise NotImplementedError("merge")


def encode(ids: torch.Tensor, merges: list[tuple[int, int]]) -> torch.Tensor:
    """Return the ids (int64) of these bytes after the merges, applied in order.

    Merge n creates the id 256 + n. `ids` may be uint8 or int64, and may be empty.
    """
    # TODO
    raise NotImplementedError("encode")


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
