"""Philox 4x32-10: random numbers that are found, not drawn one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch import Tensor


WORD = 2**32 - 1
A, B = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85


def multiply(a: int, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the high and the low word of ``a * b``.

    `a` and the int64 elements of `b` are words, 0 to 2**32 - 1. Return words too, in int64.
    """
    # An overflow loses what is above the 64 bits, and the mask what the shift has made of the sign.
    product = a * b
    return product >> 32 & WORD, product & WORD


def philox(counter: Tensor, seed: int) -> Tensor:
    """Return the four words computed from each counter.

    `counter` is (..., 4), int64 words; so is the result. `seed` is 0 to 2**64 - 1.
    """
    c0, c1, c2, c3 = counter.unbind(-1)
    k0, k1 = seed & WORD, seed >> 32
    for _ in range(10):
        high_a, low_a = multiply(A, c0)
        high_b, low_b = multiply(B, c2)
        c0, c1, c2, c3 = high_b ^ c1 ^ k0, low_b, high_a ^ c3 ^ k1, low_a
        k0, k1 = k0 + BUMPS[0] & WORD, k1 + BUMPS[1] & WORD
    return torch.stack([c0, c1, c2, c3], -1)


def draw(seed: int, thread: Tensor, position: Tensor) -> Tensor:
    """Return the word that each thread draws at each position, counted from 0.

    Both are int64, 0 to 2**63 - 1, with shapes that broadcast. Position 5 is the second of the four
    words computed from counter 1.
    """
    thread, position = torch.broadcast_tensors(thread, position)
    block = position // 4
    counter = torch.stack([block & WORD, block >> 32, thread & WORD, thread >> 32], -1)
    return philox(counter, seed).gather(-1, position.unsqueeze(-1) % 4).squeeze(-1)
